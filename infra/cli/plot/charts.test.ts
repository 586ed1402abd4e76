import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { charts } from './charts.ts';
import { crc32c, maskedCrc32c } from './crc32c.ts';
import type { CurvePoint } from '../../../consumers/curves/curves.ts';
import { eventFile, eventFileName } from './event-file.ts';
import { smoothed } from './smooth.ts';
import { renderChart, ticksOf, type DrawnRun } from './svg.ts';

const points: readonly CurvePoint[] = Array.from({ length: 30 }, (_, index) => ({
  step: index + 1,
  atMs: 1_767_225_600_000 + index * 1_500,
  values: { reward_mean: index / 30, reward_all_mean: 0.9, reward_p25: 0, reward_p75: 1 },
}));

const reward = charts.find(({ name }) => name === 'reward');

const drawn = (run: string, more: Partial<DrawnRun> = {}): DrawnRun => ({ run, unit: 'step', ...more });

describe('charts', () => {
  it('are drawn with band, lines, axes and legend, the same for the same points', () => {
    const svg = renderChart(reward!, drawn('a<b'), points);
    expect(svg).toBe(renderChart(reward!, drawn('a<b'), points));
    expect(svg.match(/<polyline/g)).toHaveLength(2);
    expect(svg.match(/<polygon/g)).toHaveLength(1);
    for (const part of [
      'a&lt;b',
      'Reward of a trajectory',
      '>mean of trained groups<',
      '>mean of all finished<',
      '>middle half of trained groups<',
      '>0.2<',
      '>step<',
    ])
      expect(svg).toContain(part);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('take one point, none, and more than there are pixels', () => {
    expect(renderChart(reward!, drawn('r'), points.slice(0, 1))).toContain('<circle');
    expect(renderChart(reward!, drawn('r'), [])).toContain('nothing recorded');
    const many = Array.from({ length: 25_000 }, (_, index) => ({ step: index, atMs: 0, values: { reward_mean: 1e7 + (index % 2) * 2e7 } }));
    const svg = renderChart(reward!, drawn('r'), many);
    expect(svg.length).toBeLessThan(60_000);
    expect(svg).toContain('>20M<');
    expect(svg).toContain('>20k<');
  });

  it('have a time axis on request', () => {
    const timed = renderChart(reward!, drawn('r', { axis: 'time' }), points);
    expect(timed).toContain('>seconds since the start<');
    expect(timed).toMatch(/>40<.*\n.*seconds/s);
    const hours = points.map((point) => ({ ...point, atMs: point.atMs + point.step * 3_600_000 }));
    expect(renderChart(reward!, drawn('r', { axis: 'time', beganMs: points[0]!.atMs }), hours)).toContain('>hours since the start<');
    expect(renderChart(reward!, drawn('r', { axis: 'time' }), [])).not.toMatch(/NaN|Infinity/);
  });

  it('show smoothed lines in front of the original ones', () => {
    const svg = renderChart(reward!, drawn('r', { smoothing: 0.9 }), points);
    expect(svg.match(/<polyline/g)).toHaveLength(4);
    expect(svg.match(/stroke-opacity="0.25"/g)).toHaveLength(2);
    expect(svg).not.toMatch(/NaN/);
  });

  it('of held-out scores have versions on their axis and the interval as a band', () => {
    const scored = [0, 50].map((step) => ({
      ...{ step, atMs: step * 1_000 },
      values: { heldout_avg_f1: step / 100, heldout_avg_f1_low: 0, heldout_avg_f1_high: 0.6 },
    }));
    const svg = renderChart(charts[0]!, drawn('r'), [...points, ...scored]);
    for (const part of ['>policy version<', '>95 % interval<', '<polygon']) expect(svg).toContain(part);
  });

  it('have unique names and unique labels, and draw no series twice', () => {
    const means = charts.flatMap(({ lines }) => lines.map(({ series }) => series));
    expect(new Set(means).size).toBe(means.length);
    for (const old of ['tokens_mean', 'completion_tokens_mean']) expect(means).not.toContain(old);
    expect(new Set(charts.map(({ name }) => name)).size).toBe(charts.length);
    for (const { lines } of charts) expect(new Set(lines.map(({ label }) => label)).size).toBe(lines.length);
  });

  it('have ticks at round numbers', () => {
    expect(ticksOf(0, 1)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticksOf(-3, 47)).toEqual([0, 10, 20, 30, 40]);
    expect(ticksOf(0.0101, 0.0139)).toEqual([0.011, 0.012, 0.013]);
  });
});

describe('smoothing', () => {
  it('leaves constants unchanged, and everything at weight 0', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -1, max: 1, noNaN: true })),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (values, weight) => {
          expect(smoothed(values, 0).map((one) => one + 0)).toEqual(values.map((value) => value + 0));
          for (const one of smoothed(values.map(() => 0.5), weight)) expect(one).toBeCloseTo(0.5); // prettier-ignore
          for (const one of smoothed(values, weight)) expect(Math.abs(one)).toBeLessThanOrEqual(1 + 1e-9);
        },
      ),
    );
    expect(smoothed([1, 0], 0.5)[1]).toBeCloseTo(1 / 3);
  });
});

describe('event files', () => {
  it('have the checksums of their framing', () => {
    // RFC 3720, B.4
    expect(crc32c(new Uint8Array(32)).toString(16)).toBe('8a9136aa');
    expect(crc32c(new Uint8Array(32).fill(0xff)).toString(16)).toBe('62a8ab43');
    expect(crc32c(Uint8Array.from({ length: 32 }, (_, at) => at)).toString(16)).toBe('46dd794e');
    expect(crc32c(Buffer.from('123456789')).toString(16)).toBe('e3069283');
    expect(maskedCrc32c(Buffer.from('123456789'))).toBe((((0xe3069283 >>> 15) | (0xe3069283 << 17)) + 0xa282ead8) >>> 0);
  });

  it('are records that each hold an event', () => {
    const file = eventFile(points, (series) => `reward/${series}`);
    const records: Buffer[] = [];
    for (let at = 0; at < file.length;) {
      const length = Number(file.readBigUInt64LE(at));
      const data = file.subarray(at + 12, at + 12 + length);
      expect(file.readUInt32LE(at + 8)).toBe(maskedCrc32c(file.subarray(at, at + 8)));
      expect(file.readUInt32LE(at + 12 + length)).toBe(maskedCrc32c(data));
      records.push(data);
      at += 16 + length;
    }
    expect(records).toHaveLength(points.length + 1);
    expect(records[0]?.toString('latin1')).toContain('brain.Event:2');
    expect(records[1]?.readDoubleLE(1)).toBe(1_767_225_600);
    expect(records[1]?.toString('latin1')).toContain('reward/reward_mean');
    expect(eventFileName(points, 'run-a')).toBe('events.out.tfevents.1767225600.run-a');
  });

  it('encode steps of more than one byte', () => {
    const point = { step: 300, atMs: 0, values: {} };
    const data = eventFile([point], String).subarray(-4 - 9 - 3 - 2, -4);
    expect(data.toString('hex').endsWith('10ac022a00')).toBe(true);
  });
});
