// Puts turns in the order of their table's key, so that the store neither sorts a block nor moves its texts.
import type { Cursor } from '../../../schemas/cursor.ts';
import type { FieldTake } from '../../../schemas/layout.ts';
import { passOver, turnFieldNames, type PlainTurn } from './turn-columns.ts';

/** One character per byte: such texts compare like their bytes. */
function bytesAsText(cursor: Cursor): string {
  const length = cursor.number();
  cursor.at += length;
  return cursor.bytes.toString('latin1', cursor.at - length, cursor.at);
}

/** Places of turns in a list, by run and by trajectory. */
type PlacesByRun = Map<string, Map<string, number[]>>;

const inOrder = <T>(map: ReadonlyMap<string, T>): readonly T[] => [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);

/** Ordered by (run_id, trajectory_id, attempt, turn); those with the same key keep their order. */
export function inKeyOrder(turns: readonly PlainTurn[]): readonly PlainTurn[] {
  const [attempts, numbers] = [new Int32Array(turns.length), new Int32Array(turns.length)];
  const runs: PlacesByRun = new Map();
  let run = '';
  const takes: Readonly<Record<string, FieldTake>> = {
    run_id: (cursor) => {
      run = bytesAsText(cursor);
    },
    trajectory_id: (cursor, place) => {
      placesOf(runs, run, bytesAsText(cursor)).push(place);
    },
    attempt: (cursor, place) => {
      attempts[place] = cursor.number();
    },
    turn: (cursor, place) => {
      numbers[place] = cursor.number();
    },
  };
  passOver(
    turns,
    turnFieldNames.map((name) => takes[name]),
  );
  const byNumber = (a: number, b: number): number =>
    (attempts[a] as number) - (attempts[b] as number) || (numbers[a] as number) - (numbers[b] as number);
  const ordered: PlainTurn[] = [];
  for (const trajectories of inOrder(runs))
    for (const places of inOrder(trajectories)) for (const place of places.sort(byNumber)) ordered.push(turns[place] as PlainTurn);
  return ordered;
}

function placesOf(runs: PlacesByRun, run: string, trajectory: string): number[] {
  let trajectories = runs.get(run);
  if (trajectories === undefined) runs.set(run, (trajectories = new Map<string, number[]>()));
  let places = trajectories.get(trajectory);
  if (places === undefined) trajectories.set(trajectory, (places = []));
  return places;
}
