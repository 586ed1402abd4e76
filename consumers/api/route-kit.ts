// Shared parts of this lane's route files.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Store } from '../../streams/core/ports.ts';
import { readRows, type ListPage } from './list.ts';
import { purposes } from './values.ts';

/** A route plugin that takes the store as an option and decorates nothing. */
export type StoreRoutes = FastifyPluginAsyncTypebox<{ readonly store: Store }>;

export const runParams = Type.Object({ run: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,62}$', description: 'Slug of the run.' }) });

const purposeQuery = (otherwise: string) =>
  Type.Optional(Type.Enum([...purposes], { description: `Only attempts with this purpose; by default ${otherwise}.` }));
/** Parameter `purpose` of a report on answers. */
export const allButEvaluations = purposeQuery('all but evaluations');
/** Parameter `purpose` of a report on all activity. */
export const allPurposes = purposeQuery('all');

export const idText = Type.String({ minLength: 1, maxLength: 400 });
export const slugText = Type.String({ minLength: 1, maxLength: 200 });

/** A run without a ledger exists if it has events in one of these tables. */
const tablesOfOtherRuns = ['tasks', 'trajectory_starts', 'turns', 'trajectories', 'evaluation_events'] as const;

/** Throws NOT_FOUND when no table has the run. */
export async function assertRun(store: Store, run: string): Promise<void> {
  // most runs have a ledger, and reading one table is faster than reading all
  if (await hasRun(store, ['run_events'], run)) return;
  if (!(await hasRun(store, tablesOfOtherRuns, run))) throw notFound('run', run);
}

async function hasRun(store: Store, tables: readonly string[], run: string): Promise<boolean> {
  const each = tables.map((table) => `select run_id from ${table} where run_id = {run:String} limit 1`);
  const rows = await readRows<{ known: number }>(store, `select 1 as known from (${each.join(' union all ')}) limit 1`, { run });
  return rows.length > 0;
}

export const notFound = (what: string, id: string | number): PlatformError =>
  new PlatformError('NOT_FOUND', `reading ${what} ${id}: there is none of that name`);

/** Returns the page, or throws NOT_FOUND when it is empty because no table has the run. */
export async function pageOfRun<Row>(store: Store, run: string, page: Promise<ListPage<Row>>): Promise<ListPage<Row>> {
  const read = await page;
  if (read.items.length === 0) await assertRun(store, run);
  return read;
}
