import fc from 'fast-check';
import { expect, it } from 'vitest';
import { anyRow } from '../../../infra/testing/recorded-calls.ts';
import { ndjsonBytes } from './ndjson-size.ts';
import { ndjsonOf } from './ndjson.ts';

it('writes every value of a row on one line', () => {
  fc.assert(
    fc.property(anyRow, (row) => {
      const line = ndjsonOf(row).toString();
      expect(line.indexOf('\n')).toBe(line.length - 1);
      const told = JSON.parse(line) as Readonly<Record<string, unknown>>;
      expect(Object.keys(told)).toEqual(Object.keys(row));
      for (const [name, value] of Object.entries(row)) {
        if (name === 'logprobs' || name === 'temperature') continue;
        expect(told[name], name).toEqual(ArrayBuffer.isView(value) ? [...(value as Int32Array)] : value);
      }
      const floats = (told['logprobs'] as (number | null)[]).map((one) => Math.fround(one ?? NaN));
      expect(floats.map((one) => one + 0)).toEqual([...row.logprobs].map((one) => (Number.isFinite(one) ? one + 0 : NaN)));
      expect(told['temperature']).toBe(Number.isNaN(row.temperature) ? null : row.temperature);
    }),
    { numRuns: 60 },
  );
});

it('writes floats that parse back to the same value', () => {
  const steps = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }).map((bits) => new Float32Array(Int32Array.of(bits).buffer)[0] ?? 0);
  const usual = fc.double({ min: -40, max: 0, noNaN: true }).map(Math.fround);
  fc.assert(
    fc.property(fc.array(fc.oneof(steps, usual), { minLength: 1, maxLength: 50 }), (values) => {
      const row = { ...fc.sample(anyRow, 1)[0]!, logprobs: Float32Array.from(values) };
      const { logprobs } = JSON.parse(ndjsonOf(row).toString()) as { logprobs: (number | null)[] };
      expect(logprobs.map((one) => (one === null ? NaN : Math.fround(one) + 0))).toEqual(
        [...row.logprobs].map((one) => (Number.isFinite(one) ? one + 0 : NaN)),
      );
    }),
    { numRuns: 200 },
  );
});

it('is measured without being written', () => {
  const bits = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }).map((of) => new Float32Array(Int32Array.of(of).buffer)[0] ?? 0);
  const round = fc.constantFrom(0, -0, 1, -1, 0.5, -0.25, 9.99999999, 99_999_999, 1e8, 1e-5, 0.1, -123.456, 0.09999999, NaN, -Infinity);
  const logprobs = fc.array(fc.oneof(bits, round, fc.double({ min: -40, max: 0, noNaN: true })), { maxLength: 50 });
  const ids = fc.array(fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), fc.constantFrom(0, 9, 10, 99, 100, 1_000_000)));
  fc.assert(
    fc.property(anyRow, logprobs, ids, (row, floats, wholes) => {
      const odd = {
        ...row,
        group_id: `${row.group_id}\u{1F600}"`,
        logprobs: Float32Array.from(floats),
        token_ids: Int32Array.from(wholes),
      };
      for (const one of [row, odd]) expect(ndjsonBytes(one)).toBe(ndjsonOf(one).length);
    }),
    { numRuns: 200 },
  );
});
