// Keys of the page that is open, and those of every page. Typing in a field is typing.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { keyName, pressKey, type KeyStep } from './key-sequences.ts';

export interface KeyBinding {
  /** As `key-sequences.ts` names keys; several do the same. */
  readonly keys: readonly string[];
  readonly does: string;
  readonly run: () => void;
}

interface KeyGroup {
  readonly title: string;
  bindings: readonly KeyBinding[];
}

/** Groups by who added them; the last one wins. */
const groups = signal<readonly KeyGroup[]>([]);
export const keyGroups = groups;

/** Adds keys while a component is shown. A key does what the newest render says, so that fast readers do not act on an old one. */
export function useKeys(title: string, bindings: readonly KeyBinding[]): void {
  const group = useRef<KeyGroup>({ title, bindings });
  group.current.bindings = bindings;
  useEffect(() => {
    const own = group.current;
    groups.value = [...groups.peek(), own];
    return () => {
      groups.value = groups.peek().filter((one) => one !== own);
    };
  }, []);
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));

let step: KeyStep = { binding: undefined, waiting: undefined };

/** Handles every key of the window. */
export function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const command = event.ctrlKey || event.metaKey;
  if (isField(event.target) && !command && event.key !== 'Escape') return;
  const all = [...groups.peek()].reverse().flatMap(({ bindings }) => bindings);
  const names = all.flatMap(({ keys }) => keys);
  step = pressKey(names, step.waiting, { name: keyName({ key: event.key, command }), at: performance.now() });
  if (step.binding === undefined) return;
  const chosen = all.find(({ keys }) => keys.includes(step.binding ?? ''));
  if (chosen === undefined) return;
  event.preventDefault();
  chosen.run();
}
