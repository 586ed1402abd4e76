// From steps to their trajectories, turns and tool calls. The turns of a few steps are scattered over their table, which is sorted by
// trajectory. So a page is read from the first steps that it may cover, and from more steps only while it is not full.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { compare, equals, keyAt, readPage, readRows, type SqlCondition, type ListPage, type PageRequest } from '../list.ts';
import { lineageColumns } from './rollouts.columns.ts';

interface LineageFilter {
  readonly step?: number | undefined;
  readonly trajectory?: string | undefined;
  readonly tool?: string | undefined;
}

type LineagePage = ListPage<RowOf<typeof lineageColumns>>;

/** Both bounds are inclusive. */
interface StepRange {
  readonly first: number;
  readonly last: number;
}

const key = { step: 'Int32', trajectory_id: 'String', attempt: 'Int32', turn: 'Int32' } as const;
const WIDER = 8;

/** Ordered by step, trajectory, attempt and turn. */
export async function listLineage(store: Store, run: string, request: PageRequest & LineageFilter): Promise<LineagePage> {
  const { step, trajectory } = request;
  if (step !== undefined) return pageOf(store, run, { ...request, steps: { first: step, last: step } });
  // The turns of one trajectory are adjacent.
  if (trajectory !== undefined) return pageOf(store, run, request);
  const { first, last } = await stepsToShow(store, run, request);
  for (let wide = 1; ; wide *= WIDER) {
    const steps = { first, last: Math.min(last, first + wide - 1) };
    const page = await pageOf(store, run, { ...request, steps });
    if (page.next_cursor !== null || steps.last === last) return page;
  }
}

/** The steps of a run from where the previous page ended; 0 to 0 when there are none. */
async function stepsToShow(store: Store, run: string, { cursor }: PageRequest): Promise<StepRange> {
  const from = cursor === undefined ? 0 : Number(keyAt(key, cursor)[0]);
  const rows = await readRows<StepRange>(
    store,
    'select min(step) as first, max(step) as last from step_trajectories where run_id = {run:String} and step >= {from:Int32}',
    { run, from },
  );
  return rows[0] ?? { first: 0, last: 0 };
}

function pageOf(store: Store, run: string, request: PageRequest & LineageFilter & { readonly steps?: StepRange }): Promise<LineagePage> {
  const where = [
    ...equals('run_id', 'String', run),
    ...within(request.steps),
    ...equals('trajectory_id', 'String', request.trajectory),
    ...equals('tool', 'String', request.tool),
  ];
  const { step, trajectory, tool } = request;
  const spec = { from: 'lineage_records', columns: lineageColumns, key, direction: 'asc' } as const;
  return readPage(store, spec, { ...request, where, identity: { run, step, trajectory, tool } });
}

/** Repeats the condition on the steps for the turns, so that only the turns of these steps are read. */
function within(steps: StepRange | undefined): readonly SqlCondition[] {
  if (steps === undefined) return [];
  const bounds = [
    ...compare('step', { sign: '>=', type: 'Int32' }, steps.first),
    ...compare('step', { sign: '<=', type: 'Int32' }, steps.last),
  ];
  const ofRun = `run_id = {run_id_is:String} and ${bounds.map(({ sql }) => sql).join(' and ')}`;
  return [...bounds, { sql: `trajectory_id in (select trajectory_id from step_trajectories where ${ofRun})`, params: {} }];
}
