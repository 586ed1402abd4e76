import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import type { TurnRecorded } from '../../../schemas/generated/events.ts';
import type { Cell, Column, LogRecord } from '../../../streams/core/ports.ts';
import { randomEvent, seeded } from '../../../infra/testing/events.ts';
import { originOf } from './cells.ts';
import { turnRow } from './rollouts.rows.ts';
import { turnColumns, type PlainTurn } from './turn-columns.ts';

const codec = createCodec({ late: ['TurnRecorded'] });

function plainTurn(event: TurnRecorded, offset: number): PlainTurn {
  const value = codec.encode('TurnRecorded', event);
  const record: LogRecord = {
    topic: 'rollouts',
    partition: 2,
    offset,
    timestampMs: 1_767_225_600_000 + offset,
    key: null,
    value,
    headers: {},
  };
  const read = codec.decode(value);
  if (!read.ok || read.value.type !== 'TurnRecorded' || read.value.plain === undefined) throw new Error('the turn is not plain');
  return { record, decoded: read.value, plain: read.value.plain };
}

/** Cells of a column as a row would carry them. */
function cellsOf(column: Column): readonly Cell[] {
  if (!('kind' in column)) return Array.from(column, (cell) => (typeof cell === 'number' && !Number.isFinite(cell) ? String(cell) : cell));
  const ends = Array.from(column.ends);
  if (column.kind === 'texts') return ends.map((end, at) => (column.sources[at] as Buffer).toString('utf8', column.starts[at], end));
  const items = cellsOf(column.items);
  return ends.map((end, at) => items.slice(at === 0 ? 0 : ends[at - 1], end));
}

const odd = fc.record(
  {
    policy_spans: fc.array(fc.record({ version: fc.integer({ min: -1, max: 5 }), tokens: fc.nat(1_000) }), { maxLength: 4 }),
    generation_ms: fc.double(),
    reward: fc.constantFrom(NaN, Infinity, -Infinity, -0, 0.1),
    text: fc.string({ unit: 'binary', maxLength: 300 }),
    call_id: fc.string({ unit: 'grapheme', maxLength: 80 }),
    token_ids: fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { maxLength: 70 }),
    logprobs: fc.array(fc.float(), { maxLength: 5 }),
    items: fc.array(fc.record({ url: fc.string(), title: fc.string({ unit: 'binary' }) }), { maxLength: 3 }),
    turn: fc.constantFrom(0, -1, 2 ** 31 - 1, -(2 ** 31)),
    started_at: fc.constantFrom(0, 1_767_225_600_123_456, Number.MAX_SAFE_INTEGER >> 1, -5),
    truncated: fc.boolean(),
    decision: fc.option(
      fc.record({
        features: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
        candidates: fc.nat(50),
        width: fc.nat(50),
        chosen: fc.integer({ min: -1, max: 50 }),
        logprob: fc.float(),
        entropy: fc.float(),
      }),
    ),
  },
  { requiredKeys: [] },
);

describe('columns of turns', () => {
  it('hold what the rows of their events hold, cell by cell', () => {
    fc.assert(
      fc.property(fc.array(odd, { minLength: 1, maxLength: 6 }), fc.nat(), (changes, seed) => {
        const random = seeded(seed);
        const turns = changes.map((change, at) => plainTurn({ ...randomEvent('TurnRecorded', random), ...change }, at));
        const rows = turns.map(({ record, decoded }) => turnRow(decoded.event, originOf(record)));
        const columns = turnColumns(turns);
        expect([...columns.keys()].sort()).toEqual(Object.keys(rows[0] ?? {}).sort());
        for (const [name, column] of columns) expect(cellsOf(column), name).toEqual(rows.map((row) => row[name]));
      }),
      { numRuns: 300 },
    );
  });
});
