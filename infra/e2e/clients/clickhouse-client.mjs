// Tests ClickHouse's own client for Node: select, bound parameters, a stream, an insert. Environment: CLICKHOUSE.
import assert from 'node:assert/strict';
import { createClient } from '@clickhouse/client';

const client = createClient({ url: process.env['CLICKHOUSE'], database: 'turnstream' });
const rows = async (query, query_params = {}) => (await client.query({ query, query_params, format: 'JSONEachRow' })).json();

const [first] = await rows('SELECT run_id, step FROM steps ORDER BY at LIMIT 1');
assert.ok(first, 'there is no step yet');
assert.deepEqual(
  await rows('SELECT run_id, step FROM steps WHERE run_id = {run:String} AND step = {step:Int32} LIMIT 1', {
    run: first.run_id,
    step: first.step,
  }),
  [first],
);
console.log('ok select with bound parameters');

let streamed = 0;
const stream = (await client.query({ query: 'SELECT trajectory_id, turn FROM turns LIMIT 5000', format: 'JSONEachRow' })).stream();
for await (const part of stream) streamed += part.length;
assert.ok(streamed > 0);
console.log(`ok ${streamed} rows as a stream`);

await client.command({ query: 'CREATE DATABASE IF NOT EXISTS client_check_node' });
try {
  await client.command({
    query: 'CREATE OR REPLACE TABLE client_check_node.notes (id UInt32, note String) ENGINE = MergeTree ORDER BY id',
  });
  const notes = Array.from({ length: 1000 }, (_, id) => ({ id, note: `note ${id} 'quoted' \\ \u{1F600}` }));
  await client.insert({ table: 'client_check_node.notes', values: notes, format: 'JSONEachRow' });
  assert.deepEqual(await rows('SELECT id, note FROM client_check_node.notes ORDER BY id'), notes);
  console.log('ok 1000 rows inserted and read back');
} finally {
  await client.command({ query: 'DROP DATABASE client_check_node' });
  await client.close();
}
