import type { JSX } from 'preact';
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import type { ApiPage, ApiRun } from '../data/shapes.ts';
import { Text } from '../kit/parts.tsx';
import { go, place } from './place.ts';
import { placesFor } from './places.ts';

export const paletteOpen = signal(false);

/** Opens any page, run, step, or trajectory by typing. */
export function Palette(): JSX.Element | null {
  return paletteOpen.value ? <OpenPalette /> : null;
}

function OpenPalette(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const { value } = useAnswer<ApiPage<ApiRun>>('/v1/runs?limit=200&fields=run_id,status');
  // focused before the next key press, so that fast typing goes to the palette and not to the page's shortcuts
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const segments = place.value.pathname.split('/');
  const run = segments[1] === 'runs' && segments[2] !== undefined ? decodeURIComponent(segments[2]) : undefined;
  const found = placesFor(typed, { run, runs: (value?.items ?? []).map(({ run_id }) => run_id) });
  const open = (to: string | undefined): void => {
    paletteOpen.value = false;
    if (to !== undefined) go(to);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move !== undefined) {
      event.preventDefault();
      setAt((at + move + found.length) % Math.max(1, found.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      open(found[at]?.to);
    }
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Go anywhere" onClose={() => (paletteOpen.value = false)}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="places"
        aria-label="Page, run, step, or trajectory"
        placeholder="Page, run, step, or trajectory"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="places" role="listbox" aria-label="Places">
        {found.map(({ name, to }, index) => (
          <li key={to} role="option" aria-selected={index === at} onClick={() => open(to)}>
            <Text>{name}</Text>
          </li>
        ))}
      </ul>
    </dialog>
  );
}
