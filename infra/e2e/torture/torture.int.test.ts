// A short torture test of a real run: one fixed round of faults in three minutes, in which every kind of process is killed, and every
// other kind of fault is injected (a full disk only where one can be mounted). Each guarantee is checked separately.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atMostEvery, cleanEnv } from '../../testing/up.ts';
import type { ProblemKind } from './problem.ts';
import type { TortureReport } from './report.ts';
import { canMountDisk } from '../../testing/small-disk.ts';
import { faultKinds, ROUND, targets } from './schedule.ts';

const LIMIT_MS = 900_000;
let dir: string;
let report: TortureReport;
let said = '';

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'turnstream-torture-test-'));
  const out = join(dir, 'report.json');
  const program = join(import.meta.dirname, 'torture.ts');
  const args = ['--import', 'tsx', program, '--minutes', '3', '--kills', String(ROUND), '--seed', '1', '--out', out];
  const child = spawn(process.execPath, args, { env: cleanEnv(atMostEvery(2_500)), stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (said += part.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  process.stdout.write(said);
  report = JSON.parse(
    await readFile(out, 'utf8').catch(() => Promise.reject(new Error(`the torture ended with ${code}`))),
  ) as TortureReport;
}, LIMIT_MS);

afterAll(async () => {
  await rm(dir, { recursive: true, force: true });
});

const problems = (...kinds: ProblemKind[]): readonly string[] =>
  report.problems.filter((text) => kinds.some((kind) => text.startsWith(`${kind}: `)));

describe('a run in a torture test', () => {
  it('recovers from every fault by itself', () => {
    expect(report.broken).toBe('');
    expect(report.log.filter((struck) => !('backMs' in struck && 'nextStepMs' in struck))).toEqual([]);
    expect(report).toMatchObject({ faults: ROUND, survived: ROUND });
    for (const target of targets) expect(report.recovery[target]?.faults).toBeGreaterThan(0);
    const struck = new Set(report.log.map((one) => ('kind' in one ? one.kind : '')));
    expect(faultKinds.filter((kind) => !struck.has(kind) && (kind !== 'disk' || canMountDisk))).toEqual([]);
  });

  it('loses no trajectory', () => {
    expect(problems('lost', 'order', 'stuck', 'resume', 'request')).toEqual([]);
    expect(report.trained + report.discarded + report.open).toBe(report.admitted);
    expect(report.trained).toBeGreaterThan(0);
    const { admitted, trained, discarded, open, lost } = report.groups;
    expect([lost, trained + discarded + open]).toEqual([0, admitted]);
  });

  it('gives up no running attempt of a worker that was not hit', () => {
    expect(problems('needless')).toEqual([]);
  });

  it('trains on nothing twice and runs no attempt twice', () => {
    expect(problems('doubled', 'stranger', 'attempt')).toEqual([]);
  });

  it('has every version once, in an unbroken ledger', () => {
    expect(problems('version', 'chain')).toEqual([]);
    expect(report.steps).toBeGreaterThan(0);
  });

  it('has only steps and discards that agree with the records in the log', () => {
    expect(problems('step', 'discard')).toEqual([]);
  });

  it('keeps the limits of staleness and admission at every step', () => {
    expect(problems('staleness', 'admission')).toEqual([]);
  });

  it('has every record of the log in the tables exactly once', () => {
    expect(report.rows).toEqual({ missing: 0, doubled: 0, changed: 0, extra: 0 });
    expect(report.records).toBeGreaterThan(1_000);
  });

  it('has no other problems', () => {
    expect(report.found).toEqual({});
    expect(report.problems).toEqual([]);
    expect(report.ok).toBe(true);
  });
});
