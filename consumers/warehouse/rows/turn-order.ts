// Puts turns in the order of their table's key, so that the store neither sorts a block nor moves its texts.
import type { Cursor } from '../../../schemas/cursor.ts';
import type { FieldTake } from '../../../schemas/layout.ts';
import { turnFieldNames, passOver, type PlainTurn } from './turn-columns.ts';

/** One byte a character: such texts compare like their bytes. */
function bytesAsText(cursor: Cursor): string {
  const length = cursor.number();
  cursor.at += length;
  return cursor.bytes.toString('latin1', cursor.at - length, cursor.at);
}

interface PlacedTurn {
  readonly one: PlainTurn;
  readonly attempt: number;
  readonly turn: number;
}

/** By run, then by trajectory. */
type TurnsOfRuns = Map<string, Map<string, PlacedTurn[]>>;

const inOrder = <T>(map: ReadonlyMap<string, T>): readonly T[] =>
  [...map.keys()].sort((a, b) => (a < b ? -1 : 1)).map((key) => map.get(key) as T);

/** Ordered by (run_id, trajectory_id, attempt, turn); those with the same key stay as they are. */
export function inKeyOrder(turns: readonly PlainTurn[]): readonly PlainTurn[] {
  const runs: TurnsOfRuns = new Map();
  let [run, trajectory, attempt] = ['', '', 0];
  const takes: Readonly<Record<string, FieldTake>> = {
    run_id: (cursor) => {
      run = bytesAsText(cursor);
    },
    trajectory_id: (cursor) => {
      trajectory = bytesAsText(cursor);
    },
    attempt: (cursor) => {
      attempt = cursor.number();
    },
    turn: (cursor, row) => {
      placesIn(runs, run, trajectory).push({ one: turns[row] as PlainTurn, attempt, turn: cursor.number() });
    },
  };
  passOver(
    turns,
    turnFieldNames.map((name) => takes[name]),
  );
  return inOrder(runs).flatMap((trajectories) =>
    inOrder(trajectories).flatMap((placed) => placed.sort((a, b) => a.attempt - b.attempt || a.turn - b.turn).map(({ one }) => one)),
  );
}

function placesIn(runs: TurnsOfRuns, run: string, trajectory: string): PlacedTurn[] {
  let trajectories = runs.get(run);
  if (trajectories === undefined) runs.set(run, (trajectories = new Map()));
  let placed = trajectories.get(trajectory);
  if (placed === undefined) trajectories.set(trajectory, (placed = []));
  return placed;
}
