import type { Store } from '../../../streams/core/ports.ts';
import { selectList, type RowOf } from '../columns.ts';
import { compare, equals, readPage, readRows, type ListPage, type PageRequest } from '../list.ts';
import { stepsBetween } from './runs.reader.ts';
import { discardedColumns, stepColumns, trainedColumns } from './runs.columns.ts';

type StepRow = RowOf<typeof stepColumns>;
type TrainedRow = RowOf<typeof trainedColumns>;
type DiscardedRow = RowOf<typeof discardedColumns>;

export async function listSteps(
  store: Store,
  run: string,
  request: PageRequest & { readonly order: 'asc' | 'desc'; readonly from_step?: number | undefined; readonly to_step?: number | undefined },
): Promise<ListPage<StepRow>> {
  const where = [...equals('run_id', 'String', run), ...stepsBetween(request)];
  return readPage(store, { from: 'steps', columns: stepColumns, key: { step: 'Int32' }, direction: request.order }, { ...request, where });
}

export interface StepReport {
  readonly step: StepRow;
  readonly trajectories: readonly TrainedRow[];
  /** Trajectories that were discarded while this step was in progress. */
  readonly discarded: readonly DiscardedRow[];
  /** True when one of the lists was cut at 1,000 rows; SQL can read them all. */
  readonly truncated: boolean;
}

const MOST = 1_000;

export async function readStep(store: Store, run: string, step: number): Promise<StepReport | undefined> {
  const [found] = await readRows<StepRow>(
    store,
    `select ${selectList(stepColumns)} from steps where run_id = {run:String} and step = {step:Int32} limit 1`,
    { run, step },
  );
  if (found === undefined) return undefined;
  const [trajectories, discarded] = await Promise.all([
    readRows<TrainedRow>(
      store,
      `select ${selectList(trainedColumns)} from step_trajectories where run_id = {run:String} and step = {step:Int32}
       order by trajectory_id, attempt limit 1 by trajectory_id, attempt limit {most:UInt32}`,
      { run, step, most: MOST + 1 },
    ),
    readRows<DiscardedRow>(
      store,
      `select ${selectList(discardedColumns)} from discarded_trajectories where run_id = {run:String} and version = {version:Int32}
       order by trajectory_id, attempt limit 1 by trajectory_id, attempt limit {most:UInt32}`,
      { run, version: found.version_before, most: MOST + 1 },
    ),
  ]);
  return {
    step: found,
    trajectories: trajectories.slice(0, MOST),
    discarded: discarded.slice(0, MOST),
    truncated: trajectories.length > MOST || discarded.length > MOST,
  };
}

interface DiscardFilter {
  readonly reason?: string | undefined;
  readonly version?: number | undefined;
  readonly min_version?: number | undefined;
  readonly max_version?: number | undefined;
  readonly question_id?: string | undefined;
  readonly min_reward?: number | undefined;
  readonly max_reward?: number | undefined;
  readonly min_turns?: number | undefined;
  readonly max_turns?: number | undefined;
  readonly min_staleness?: number | undefined;
}

export async function listDiscarded(store: Store, run: string, request: PageRequest & DiscardFilter): Promise<ListPage<DiscardedRow>> {
  const where = [
    ...equals('run_id', 'String', run),
    ...equals('reason', 'String', request.reason),
    ...equals('version', 'Int32', request.version),
    ...compare('version', { sign: '>=', type: 'Int32' }, request.min_version),
    ...compare('version', { sign: '<=', type: 'Int32' }, request.max_version),
    ...equals('question_id', 'String', request.question_id),
    ...compare('reward', { sign: '>=', type: 'Float64' }, request.min_reward),
    ...compare('reward', { sign: '<=', type: 'Float64' }, request.max_reward),
    ...compare('turns', { sign: '>=', type: 'Int32' }, request.min_turns),
    ...compare('turns', { sign: '<=', type: 'Int32' }, request.max_turns),
    ...compare('staleness_total', { sign: '>=', type: 'Int32' }, request.min_staleness),
  ];
  const key = { version: 'Int32', trajectory_id: 'String', attempt: 'Int32', sequence: 'Int64' } as const;
  return readPage(store, { from: 'discarded_trajectories', columns: discardedColumns, key, direction: 'desc' }, { ...request, where });
}
