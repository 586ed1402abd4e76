// The shortcuts of the open page and those of every page. They are off while a field has the focus, and Enter while a link or a button has
// it.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { keyName, pressKey, type KeyStep } from './key-sequences.ts';
import { go } from './place.ts';

export interface KeyBinding {
  /** Keys in the notation of `key-sequences.ts`; several may do the same. */
  readonly keys: readonly string[];
  readonly does: string;
  readonly run: () => void;
}

interface KeyGroup {
  readonly title: string;
  bindings: readonly KeyBinding[];
}

/** Bindings by the component that added them; later ones take precedence. */
const groups = signal<readonly KeyGroup[]>([]);
export const keyGroups = groups;

/** Adds shortcuts while a component is mounted. A key always calls the handler of the latest render, never a stale one. */
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

/** Shortcuts that open the selected row of a list, in this tab or in a new one. */
export const openKeys = (linkOf: () => string | undefined): readonly KeyBinding[] => {
  const open = (how: (link: string) => unknown) => (): void => {
    const link = linkOf();
    if (link !== undefined) how(link);
  };
  return [
    { keys: ['Enter', 'o'], does: 'Open', run: open(go) },
    { keys: ['Shift Enter', 'O'], does: 'Open in a new tab', run: open((link) => window.open(link, '_blank', 'noopener')) },
  ];
};

export const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));

/** Keys that elements other than fields handle themselves while they have the focus. */
const ownKeys: Readonly<Record<string, readonly string[]>> = { A: ['Enter'], BUTTON: ['Enter', ' '], SUMMARY: ['Enter', ' '] };

function isHandledBy(target: EventTarget | null, key: string): boolean {
  if (isField(target)) return key !== 'Escape';
  return target instanceof HTMLElement && (ownKeys[target.tagName]?.includes(key) ?? false);
}

/** Takes the focus from a link or a button, so that Enter is for the page again. */
function letGo(target: EventTarget | null): void {
  if (target instanceof HTMLElement && Object.hasOwn(ownKeys, target.tagName)) target.blur();
}

/** Keys that select something, which Enter then opens. */
const selecting = new Set(['j', 'k', 'n', 'p', 'g g', 'G', 'ArrowDown', 'ArrowUp', 'ArrowLeft', 'ArrowRight']);

let step: KeyStep = { binding: undefined, waiting: undefined };

/** Handles every key press of the window. */
export function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const command = event.ctrlKey || event.metaKey;
  if (!command && isHandledBy(event.target, event.key)) return;
  const all = [...groups.peek()].reverse().flatMap(({ bindings }) => bindings);
  const names = all.flatMap(({ keys }) => keys);
  step = pressKey(names, step.waiting, { name: keyName({ key: event.key, command, shift: event.shiftKey }), at: performance.now() });
  if (step.binding === undefined) return;
  const chosen = all.find(({ keys }) => keys.includes(step.binding ?? ''));
  if (chosen === undefined) return;
  event.preventDefault();
  if (selecting.has(step.binding)) letGo(event.target);
  chosen.run();
}
