// The attempt that the reader marked for a comparison. Kept until the tab is closed.
import { signal } from '@preact/signals';
import { attemptName, type MarkedAttempt } from './attempt-names.ts';
import { tell } from './notice.tsx';
import { address } from './patterns.ts';
import { go } from './place.ts';

const marked = signal<(MarkedAttempt & { readonly run: string }) | undefined>(undefined);

export function mark(run: string, one: MarkedAttempt): void {
  marked.value = { run, trajectory_id: one.trajectory_id, attempt: one.attempt };
  tell(`Marked ${attemptName(one)}. On another trajectory, d compares the two.`);
}

/** Opens the comparison of the marked attempt with this one. */
export function compareWithMarked(run: string, one: MarkedAttempt): void {
  const other = marked.peek();
  if (other === undefined || other.run !== run) tell('No trajectory of this run is marked: press m to mark one.');
  else if (attemptName(other) === attemptName(one)) tell('This is the marked one: open another trajectory, then press d.');
  else go(address('/runs/:run/diff', { run }, { a: attemptName(other), b: attemptName(one) }));
}
