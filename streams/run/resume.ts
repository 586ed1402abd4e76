// The resume point of a step: for each partition the lowest offset that an open group needs, and where to start in the ledger, so that
// every closed group whose tasks may be read again is known to be closed.
import type { Position, Resume } from '../../schemas/generated/events.ts';
import type { RunState } from './run-state.ts';

/**
 * The resume point after an entry that closes the groups in `closing`, which are open in `state` until that entry is folded. Counters are
 * those after that entry.
 */
export function resumeOf(state: RunState, closing: ReadonlySet<string> = new Set()): Resume {
  const rollouts = new Map(state.rolloutPositions);
  const tasks = new Map(state.taskPositions);
  for (const group of state.groups.values()) {
    if (closing.has(group.id)) continue;
    for (const [partition, offset] of group.firstOffsets) lower(rollouts, partition, offset);
    for (const place of group.tasks) lower(tasks, place.partition, place.offset);
  }
  return {
    rollouts: positions(rollouts),
    tasks: positions(tasks),
    ledger_offset: ledgerOffset(state, tasks),
    admitted_groups: state.counters.admittedGroups,
    trained_groups: state.counters.trainedGroups + closing.size,
    discarded_groups: state.counters.discardedGroups,
    open_groups: state.groups.size - closing.size,
  };
}

/** The groups of `closing` close at or after state.ledgerPosition, the largest offset that this can return. */
function ledgerOffset(state: RunState, tasks: ReadonlyMap<number, number>): number {
  let lowest = state.ledgerPosition;
  for (const { ledgerOffset: offset, tasks: places } of state.closed.values()) {
    if (places.some((place) => place.offset >= (tasks.get(place.partition) ?? 0))) lowest = Math.min(lowest, offset);
  }
  for (const offset of state.exhausted.values()) lowest = Math.min(lowest, offset);
  return lowest;
}

/** Forgets closed groups that no restart at `resume` or later can meet again. */
export function forgetClosed(state: RunState, resume: Resume): void {
  const tasks = new Map(resume.tasks.map(({ partition, offset }) => [partition, offset]));
  for (const [id, { tasks: places }] of state.closed) {
    if (places.every((place) => place.offset < (tasks.get(place.partition) ?? 0))) state.closed.delete(id);
  }
}

/**
 * Forgets groups that a fold of the ledger alone closed, up to the ledger offset that the resume point needs: no task of those groups is
 * read again.
 */
export function forgetBehind(state: RunState, { ledger_offset: needed }: Resume): void {
  for (const [id, { ledgerOffset }] of state.closed) if (ledgerOffset < needed) state.closed.delete(id);
}

function lower(positions: Map<number, number>, partition: number, offset: number): void {
  positions.set(partition, Math.min(positions.get(partition) ?? offset, offset));
}

const positions = (from: ReadonlyMap<number, number>): readonly Position[] =>
  [...from].sort(([a], [b]) => a - b).map(([partition, offset]) => ({ partition, offset }));
