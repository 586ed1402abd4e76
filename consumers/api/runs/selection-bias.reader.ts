// A page reads the outcomes of its own steps. The figures of the whole range, returned with every page, are cached until an outcome is
// added to the run; they are exact and computed from the counts of each value instead of sorting all values.
import type { Store } from '../../../streams/core/ports.ts';
import type { DiscardReason } from '../../../streams/batch/batch.ts';
import type { RowOf } from '../columns.ts';
import { readStepsOfPage, stepsSql } from '../list-of-steps.ts';
import { compare, equals, paramsOf, readRows, type SqlCondition, type ListPage, type PageRequest } from '../list.ts';
import { createMemo, type Memo } from '../memo.ts';
import type { biasColumns, biasFigureColumns, biasReasonColumns } from './selection-bias.columns.ts';
import { bySteps, distanceColumn, distancesSql, measured, metrics, sidesSql } from './selection-bias.sql.ts';

interface BiasRequest extends PageRequest {
  readonly from_step?: number | undefined;
  readonly to_step?: number | undefined;
  /** Compares only discards with this reason. */
  readonly reason?: DiscardReason | undefined;
}

interface RangeFigures {
  /** Over all steps of the range, not only the page; null when the range is empty. */
  readonly overall: RowOf<typeof biasFigureColumns> | null;
  /** The same by reason; the empty reason stands for the kept side. */
  readonly by_reason: readonly RowOf<typeof biasReasonColumns>[];
}

type SelectionBias = ListPage<RowOf<typeof biasColumns>> & RangeFigures;

/** The selected outcomes. */
interface OutcomeFilter {
  readonly where: string;
  readonly params: Readonly<Record<string, unknown>>;
}

const textOf = (clauses: readonly SqlCondition[]): string => clauses.map(({ sql }) => sql).join(' and ');

export async function readSelectionBias(store: Store, run: string, request: BiasRequest): Promise<SelectionBias> {
  const clauses = [
    ...equals('run_id', 'String', run),
    ...compare('step', { sign: '>=', type: 'Int32' }, request.from_step),
    ...compare('step', { sign: '<=', type: 'Int32' }, request.to_step),
    ...equals('reason', 'String', request.reason).map(({ sql, params }) => ({ sql: `(is_kept or ${sql})`, params })),
  ];
  const asked = { where: textOf(clauses), params: paramsOf(clauses) };
  const [page, figures] = await Promise.all([readSteps(store, asked, request), readFigures(store, run, asked)]);
  return { ...page, ...figures };
}

/** The steps of the page, then only their outcomes. */
async function readSteps(store: Store, asked: OutcomeFilter, request: PageRequest): Promise<ListPage<RowOf<typeof biasColumns>>> {
  const { items, next_cursor } = await readStepsOfPage(store, stepsSql, {
    ...request,
    where: [{ sql: asked.where, params: asked.params }],
  });
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined) return { items: [], next_cursor };
  const rows = await readRows<RowOf<typeof biasColumns>>(
    store,
    bySteps(
      `select step, is_kept, ${measured} from outcomes where ${asked.where} and step >= {page_first:Int32} and step <= {page_last:Int32}`,
    ),
    { ...asked.params, page_first: first.step, page_last: last.step },
  );
  return { items: rows, next_cursor };
}

const memos = new WeakMap<Store, Memo<RangeFigures>>();

/** Figures of a whole range. Outcomes are only ever added, so their count shows whether there are new ones. */
async function readFigures(store: Store, run: string, asked: OutcomeFilter): Promise<RangeFigures> {
  const memo = memos.get(store) ?? createMemo<RangeFigures>();
  memos.set(store, memo);
  const [stamp] = await readRows<{ kept: number; discarded: number }>(
    store,
    `select (select count() from step_trajectories where run_id = {run:String}) as kept,
       (select count() from discarded_trajectories where run_id = {run:String}) as discarded`,
    { run },
  );
  return memo(JSON.stringify(asked), JSON.stringify(stamp ?? null), () => makeFigures(store, asked));
}

/** One side: everything kept, everything discarded, or everything discarded for one reason. */
type BiasSide = Readonly<Record<string, number | null>> & {
  readonly trajectories: number;
  readonly of_reason: boolean;
  readonly is_kept: boolean;
  readonly reason: string;
};

type Distances = Readonly<Record<string, number | null>> & { readonly metric: (typeof metrics)[number] };

async function makeFigures(store: Store, asked: OutcomeFilter): Promise<RangeFigures> {
  const sides = await readRows<BiasSide>(store, sidesSql(asked.where), asked.params);
  const kept = sides.find((side) => !side.of_reason && side.is_kept);
  const lost = sides.find((side) => !side.of_reason && !side.is_kept);
  const reasons = sides.filter((side) => side.of_reason && !side.is_kept);
  if (kept === undefined && lost === undefined) return { overall: null, by_reason: [] };
  const distances = kept === undefined || lost === undefined ? [] : await readDistances(store, asked, reasons);
  const ks = (at: number): Readonly<Record<string, number | null>> =>
    Object.fromEntries(
      metrics.map((metric) => [`${metric}_ks`, distances.find((one) => one.metric === metric)?.[distanceColumn(at)] ?? null]),
    );
  const none = Object.fromEntries(metrics.map((metric) => [`${metric}_ks`, null]));
  return {
    overall: {
      ...{ kept: kept?.trajectories ?? 0, ...figuresOf(kept, 'kept_') },
      ...{ discarded: lost?.trajectories ?? 0, ...figuresOf(lost, 'discarded_'), ...ks(reasons.length) },
    } as RowOf<typeof biasFigureColumns>,
    by_reason: [...(kept === undefined ? [] : [reasonRow(kept, none)]), ...reasons.map((side, at) => reasonRow(side, ks(at)))],
  };
}

const reasonRow = (side: BiasSide, distances: Readonly<Record<string, number | null>>): RangeFigures['by_reason'][number] =>
  ({
    ...{ reason: side.reason, trajectories: side.trajectories },
    ...{ ...figuresOf(side, ''), ...distances },
  }) as RangeFigures['by_reason'][number];

const readDistances = (store: Store, asked: OutcomeFilter, reasons: readonly BiasSide[]): Promise<readonly Distances[]> =>
  readRows<Distances>(store, distancesSql(asked.where, reasons.length), {
    ...asked.params,
    ...Object.fromEntries(reasons.map(({ reason }, at) => [`told_${at}`, reason])),
  });

const figureNames = [
  ...metrics.flatMap((metric) => ['mean', 'p50', 'p95'].map((figure) => `${metric}_${figure}`)),
  'staleness_mean',
  'flight_ms_mean',
];

const figuresOf = (side: BiasSide | undefined, prefix: string): Readonly<Record<string, number | null>> =>
  Object.fromEntries(figureNames.map((name) => [`${prefix}${name}`, side?.[name] ?? null]));
