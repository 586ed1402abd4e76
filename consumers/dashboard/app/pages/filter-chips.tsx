import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Text } from '../kit/parts.tsx';
import { change, place } from '../shell/place.ts';
import { filters, type Filter } from './filters.ts';

/** The active filters, each with a button to remove it, and one to add a filter. */
export function Filters(): JSX.Element {
  const search = place.value.searchParams;
  const set = filters.filter(({ name }) => (search.get(name) ?? '') !== '');
  const [adding, setAdding] = useState<Filter>();
  const add = (event: SubmitEvent): void => {
    event.preventDefault();
    const value = new FormData(event.currentTarget as HTMLFormElement).get('value');
    if (adding !== undefined && typeof value === 'string' && value !== '') change({ [adding.name]: value }, true);
    setAdding(undefined);
  };
  return (
    <div class="chips" role="group" aria-label="Filters">
      {set.map(({ name, label }) => (
        <button
          key={name}
          type="button"
          class="chip"
          aria-pressed="true"
          onClick={() => change({ [name]: '' }, true)}
          title="Remove this filter"
        >
          {label} <b>{<Text>{search.get(name) ?? ''}</Text>}</b> ×
        </button>
      ))}
      <select
        id="add-filter"
        aria-label="Add a filter"
        value=""
        onChange={(event) => setAdding(filters.find(({ name }) => name === event.currentTarget.value))}
      >
        <option value="">+ filter</option>
        {filters
          .filter((one) => !set.includes(one))
          .map(({ name, label }) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
      </select>
      {adding !== undefined && (
        <form class="inline" onSubmit={add}>
          <label>
            {adding.label} <ValueField filter={adding} />
          </label>
          <button type="submit">Filter</button>
        </form>
      )}
      {set.length > 1 && (
        <button type="button" class="chip" onClick={() => change(Object.fromEntries(set.map(({ name }) => [name, ''])), true)}>
          clear all
        </button>
      )}
    </div>
  );
}

function ValueField({ filter: { kind } }: { readonly filter: Filter }): JSX.Element {
  const focus = (field: HTMLElement | null): void => field?.focus();
  if (kind === 'number') return <input name="value" type="number" step="any" required ref={focus} />;
  if (kind === 'text') return <input name="value" type="text" required maxLength={400} ref={focus} />;
  return (
    <select name="value" required ref={focus}>
      {kind.map((one) => (
        <option key={one}>{one}</option>
      ))}
    </select>
  );
}
