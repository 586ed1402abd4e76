// The row of a table that is selected with the keyboard, by its key: it stays selected when rows are added above it.
import { useEffect, useState } from 'preact/hooks';
import { openKeys, useKeys } from '../shell/keys.ts';
import { keyAfter } from './window.ts';

/** Adds shortcuts that select and open a row. Returns the key of the selected row; the table marks it with `aria-selected`. */
export function useRowKeys(title: string, keys: readonly string[], linkOf: (key: string) => string): string | undefined {
  const [selected, setSelected] = useState<string>();
  useEffect(() => document.querySelector('tr[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }), [selected]);
  useKeys(title, [
    { keys: ['j', 'ArrowDown'], does: 'Next', run: () => setSelected(keyAfter(keys, selected, 1)) },
    { keys: ['k', 'ArrowUp'], does: 'Previous', run: () => setSelected(keyAfter(keys, selected, -1)) },
    { keys: ['g g'], does: 'First', run: () => setSelected(keys[0]) },
    { keys: ['G'], does: 'Last loaded', run: () => setSelected(keys.at(-1)) },
    ...openKeys(() => (selected !== undefined && keys.includes(selected) ? linkOf(selected) : undefined)),
  ]);
  return selected;
}
