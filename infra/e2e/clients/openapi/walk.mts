// A client that openapi-typescript made walks every list to its end. Arguments: the address, a run, a trajectory, an evaluation.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

declare const process: { readonly argv: readonly string[] };

const [, , baseUrl = '', run = '', trajectory = '', evaluation = ''] = process.argv;
const client = createClient<paths>({ baseUrl });

interface Page {
  readonly items: readonly unknown[];
  readonly next_cursor: string | null;
}
type Answer = Promise<{ data?: Page; error?: components['schemas']['Problem'] }>;
type Query = { readonly limit: number; readonly cursor?: string };

const path = { run };
const lists: Record<string, (query: Query) => Answer> = {
  runs: (query) => client.GET('/v1/runs', { params: { query } }),
  steps: (query) => client.GET('/v1/runs/{run}/steps', { params: { path, query: { ...query, order: 'desc' } } }),
  someColumns: (query) => client.GET('/v1/runs/{run}/steps', { params: { path, query: { ...query, fields: ['step', 'reward_mean'] } } }),
  staleness: (query) => client.GET('/v1/runs/{run}/staleness', { params: { path, query } }),
  policies: (query) => client.GET('/v1/runs/{run}/policies', { params: { path, query } }),
  discarded: (query) => client.GET('/v1/runs/{run}/discarded', { params: { path, query } }),
  selectionBias: (query) => client.GET('/v1/runs/{run}/selection-bias', { params: { path, query } }),
  trajectories: (query) => client.GET('/v1/runs/{run}/trajectories', { params: { path, query: { ...query, status: 'answered' } } }),
  toolCalls: (query) => client.GET('/v1/runs/{run}/tool-calls', { params: { path, query } }),
  lineage: (query) => client.GET('/v1/runs/{run}/lineage', { params: { path, query } }),
  questions: (query) => client.GET('/v1/runs/{run}/questions', { params: { path, query } }),
  costs: (query) => client.GET('/v1/runs/{run}/cost', { params: { path, query } }),
  turns: (query) => client.GET('/v1/trajectories/{trajectory}/turns', { params: { path: { trajectory }, query } }),
  allQuestions: (query) => client.GET('/v1/questions', { params: { query } }),
  evaluations: (query) => client.GET('/v1/evaluations', { params: { query } }),
  scores: (query) => client.GET('/v1/evaluations/{evaluation}/scores', { params: { path: { evaluation }, query } }),
  deadLetters: (query) => client.GET('/v1/dead-letters', { params: { query } }),
};

for (const [name, read] of Object.entries(lists)) {
  const count = async (limit: number): Promise<number> => {
    let rows = 0;
    for (let cursor: string | null | undefined; cursor !== null;) {
      const { data, error } = await read({ limit, ...(cursor === undefined ? {} : { cursor }) });
      if (data === undefined) throw new Error(`${name}: ${JSON.stringify(error)}`);
      rows += data.items.length;
      cursor = data.next_cursor;
    }
    return rows;
  };
  const [byTwo, whole] = [await count(2), await count(1_000)];
  if (whole === 0 || byTwo !== whole) throw new Error(`${name}: ${byTwo} rows by pages of 2, ${whole} by pages of 1,000`);
  console.log(`ok ${name}: ${whole} rows`);
}
