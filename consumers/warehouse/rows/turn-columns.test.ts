import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Cell, Column } from '../../../streams/core/ports.ts';
import { randomEvent, seeded } from '../../../infra/testing/events.ts';
import { rowByHand } from '../../../infra/testing/turn-by-hand.ts';
import { emptyTurn } from '../../../schemas/rollouts/turn.ts';
import { originOf } from './cells.ts';
import { plainTurn, turnVersions } from './plain-turn.testing.ts';
import { turnColumns } from './turn-columns.ts';
import { turnRow } from './turn-rows.ts';

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
    ...{
      branch_parent: fc.constantFrom(-1, 0, 3),
      request_id: fc.constantFrom('', 'cmpl-1'),
      sampling: fc.constantFrom('', '{"top_p":1}'),
    },
    ...{ prompt_ids: fc.constantFrom([], [1, 2, 300]), images: fc.constantFrom([]), more_calls: fc.constantFrom([]) },
    ...{ generation_timing: fc.constantFrom(null), tool_timing: fc.constantFrom(null) },
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

/** The values that the table has in columns that are left out (`turn-defaults.int.test.ts`). */
const emptyRow = turnRow(emptyTurn, { _topic: '', _partition: 0, _offset: 0, _timestamp: 0 });

/** Turns of random versions, one after the other. */
const mixed = fc.array(fc.tuple(odd, fc.nat(turnVersions - 1)), { minLength: 1, maxLength: 6 });

describe('columns of turns', () => {
  it('have the same cells as the rows of their events, whichever versions wrote them', () => {
    fc.assert(
      fc.property(mixed, fc.nat(), (changes, seed) => {
        const random = seeded(seed);
        const turns = changes.map(([change, version], offset) =>
          plainTurn({ ...randomEvent('TurnRecorded', random), ...change }, { offset, version }),
        );
        const rows = turns.map(({ record, decoded }) => turnRow(decoded.event, originOf(record)));
        const columns = turnColumns(turns);
        expect(Object.keys(rows[0] ?? {})).toEqual(expect.arrayContaining([...columns.keys()]));
        for (const name of Object.keys(rows[0] ?? {})) {
          const column = columns.get(name);
          const cells = column === undefined ? rows.map(() => emptyRow[name]) : cellsOf(column);
          expect(cells, name).toEqual(rows.map((row) => row[name]));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('leave out the columns of sparse fields when no turn has set them, whichever versions wrote the turns', () => {
    const turns = [0, 1, 2].map((version) => plainTurn({ text: 'x' }, { offset: version, version }));
    const names = [...turnColumns(turns).keys()];
    expect(names).toEqual(expect.arrayContaining(['text', 'tool_ms', 'decision_chosen']));
    for (const sparse of ['prompt_ids', 'branch_parent', 'model', 'image_uris', 'more_tools', 'token_ids', 'tool_server_ms'])
      expect(names).not.toContain(sparse);
    const set = plainTurn({ branch_parent: 0 }, { offset: 3 });
    expect(turnColumns([...turns, set]).get('branch_parent')).toEqual(Float64Array.of(-1, -1, -1, 0));
  });

  it('have the same cells as a row written by hand, in the columns of the second schema version', () => {
    fc.assert(
      fc.property(mixed, fc.nat(), (changes, seed) => {
        const random = seeded(seed);
        for (const [change, version] of changes) {
          const { record, decoded } = plainTurn({ ...randomEvent('TurnRecorded', random), ...change }, { offset: 1, version });
          const byHand = rowByHand(decoded.event, originOf(record));
          expect(turnRow(decoded.event, originOf(record))).toMatchObject(byHand);
        }
      }),
      { numRuns: 300 },
    );
  });
});
