// Keys of the page that is open, and those of every page. Typing in a field is typing.
import { signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { keyName, pressKey, type Step } from './key-sequences.ts';

export interface KeyBinding {
  /** As `key-sequences.ts` names keys; several do the same. */
  readonly keys: readonly string[];
  readonly does: string;
  readonly run: () => void;
}

interface KeyGroup {
  readonly title: string;
  readonly bindings: readonly KeyBinding[];
}

/** Groups by who added them; the last one wins. */
const groups = signal<readonly KeyGroup[]>([]);
export const keyGroups = groups;

/** Adds keys while a component is shown. */
export function useKeys(title: string, bindings: readonly KeyBinding[]): void {
  // before the next key: an effect would wait for the next frame, and a fast reader would press a key of the page before
  useLayoutEffect(() => {
    const group: KeyGroup = { title, bindings };
    groups.value = [...groups.peek(), group];
    return () => {
      groups.value = groups.peek().filter((one) => one !== group);
    };
  });
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));

let step: Step = { binding: undefined, waiting: undefined };

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
