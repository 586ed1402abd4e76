// A trainer with its learner, a worker, a coordinator and a warehouse end themselves at every named crash point: each role at one point
// after the other, and all roles at the same time. Afterwards the oracle, the ledger and the audit decide whether anything was lost or
// duplicated.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { crashPoints, type CrashPoint } from '../../streams/core/crash-points.ts';
import type { LogReader } from '../../streams/core/ports.ts';
import type { Exit } from '../app/fleet/service.ts';
import { connectLog } from '../app/open/connections.ts';
import { waitUntilDrained } from '../app/open/drain.ts';
import { silentLogger } from '../testing/logger.ts';
import { openRolesWorld, type RolesWorld } from '../testing/roles-world.ts';
import { command } from '../testing/up.ts';
import { startExternalTrainer } from './crash-trainer.ts';
import { readFacts } from './torture/facts.ts';
import { judgeRun } from './torture/oracle.ts';

/** Separate runs: a trainer that keeps ending hardly ever completes a step, so the struck worker would wait in the same run. */
const STRUCK_TRAINER = 'struck-trainer';
const STRUCK_WORKER = 'struck-worker';
/** Trained by an external trainer, which is not struck itself. */
const STRUCK_COORDINATOR = 'struck-coordinator';
/** REINFORCE trains groups of equal rewards too, which are most groups of a policy that does not learn: every point is reached soon. */
const EXTERNAL_TRAINER = { TURNSTREAM_TRAINER: 'external', TURNSTREAM_ALGORITHM: 'reinforce' } as const;
const trainerOf = (run: string) => ['trainer', '--run', run, '--seed', '1'] as const;
const workerOf = (run: string) => ['worker', '--run', run, '--name', run] as const;
/** If a point is not reached within this time, the test fails and names the point. */
const POINT_LIMIT_MS = 90_000;
/** First byte of every readable value. */
const MAGIC = 0;

/** The role that reaches a point. */
const roleOf = (point: CrashPoint): 'trainer' | 'worker' | 'warehouse' | 'coordinator' => {
  if (point.startsWith('sink.')) return 'warehouse';
  if (point.startsWith('coordinator.')) return 'coordinator';
  return point.startsWith('worker.') ? 'worker' : 'trainer';
};

/** Points that are also tested in the first commit of a run, which starts it. */
const STARTING: readonly CrashPoint[] = ['trainer.commit.begin.before', 'trainer.commit.produce.after', 'trainer.commit.end.after'];

/** A point in a commit counts only after two steps were trained, so that the commit is that of a step; the first step succeeds. */
const placeOf = (point: CrashPoint): string => (point.startsWith('trainer.commit.') ? `trainer.step.trained:2,${point}` : point);

/** Leaves out the unreadable records, which the oracle would report. */
const withoutSpoilt = (reader: LogReader): LogReader => ({
  ...reader,
  readToEnd: (topic, { onBatch, ...options }) =>
    reader.readToEnd(topic, {
      ...options,
      onBatch: (batch) => onBatch({ ...batch, records: batch.records.filter(({ value }) => value?.[0] === MAGIC) }),
    }),
});

describe('a process that ends at a named point', { timeout: 900_000 }, () => {
  const struck = new Map<string, Exit>();
  let world: RolesWorld;
  const start: RolesWorld['start'] = (extra, ...args) => world.start(extra, ...args);

  beforeAll(async () => {
    world = await openRolesWorld({
      TURNSTREAM_MAX_CONCURRENT: '12',
      // a policy that has hardly learned answers most groups alike, which is no reason to end these runs
      TURNSTREAM_MAX_DISCARDED: '1',
      TURNSTREAM_MAX_STALENESS: '20',
      TURNSTREAM_MAX_ATTEMPTS: '20',
      TURNSTREAM_WORKER_CONCURRENCY: '32',
      TURNSTREAM_SILENCE_MS: '1500',
    });
  });
  afterAll(() => world.close());

  /** Ends a role at one place after the other. */
  async function strike(places: readonly string[], args: readonly string[], extra: Readonly<Record<string, string>> = {}): Promise<void> {
    for (const place of places) {
      await spoil();
      const role = await start({ ...extra, TURNSTREAM_CRASH_AT: place }, ...args);
      const late = setTimeout(() => {
        role.signal('SIGTERM');
      }, POINT_LIMIT_MS);
      const exit = await role.exited;
      clearTimeout(late);
      const point = place.split(',').at(-1) ?? '';
      expect({ place, exit, said: role.output().includes(`crash point ${point}: SIGKILL`) }, role.output().slice(-2_000)).toEqual({
        place,
        exit: { code: null, signal: 'SIGKILL' },
        said: true,
      });
      struck.set(place, exit);
    }
  }

  /** Appends an unreadable record, so that the warehouse has a dead letter to write. */
  async function spoil(): Promise<void> {
    const log = await connectLog({ config: world.config, clientId: 'spoiler', logger: silentLogger });
    await log.kafka.appendRaw('evaluations', [{ key: 'k', value: Buffer.from(`nothing to read, ${struck.size}`) }]);
    await log.close();
  }

  const placesOf = (role: ReturnType<typeof roleOf>): readonly string[] =>
    crashPoints.filter((point) => roleOf(point) === role).map(placeOf);
  it('ends at each of them while the runs continue', async () => {
    const steady = [
      await start({}, ...workerOf(STRUCK_TRAINER)),
      await start({}, ...trainerOf(STRUCK_WORKER)),
      await start({}, ...workerOf(STRUCK_COORDINATOR)),
    ];
    const trainer = await startExternalTrainer(world.config, STRUCK_COORDINATOR);
    await Promise.all([
      strike([...STARTING, ...placesOf('trainer')], trainerOf(STRUCK_TRAINER)),
      strike(placesOf('warehouse'), ['warehouse']),
      strike(placesOf('worker'), workerOf(STRUCK_WORKER)),
      strike(placesOf('coordinator'), trainerOf(STRUCK_COORDINATOR), EXTERNAL_TRAINER),
    ]).finally(() => trainer.stop());
    expect([...struck.keys()].sort()).toEqual([...STARTING, ...crashPoints.map(placeOf)].sort());
    for (const role of steady) role.signal('SIGTERM');
    expect(await Promise.all(steady.map((role) => role.exited))).toEqual(steady.map(() => ({ code: 143, signal: null })));
  });

  it.each([STRUCK_TRAINER, STRUCK_WORKER])('leaves nothing lost or duplicated in run %s, which then finishes', async (run) => {
    const { steps } = await judged(run);
    const worker = await start({}, ...workerOf(run));
    const last = await start({}, ...trainerOf(run), '--steps', String(steps + 2));
    expect(await last.exited, last.output().slice(-2_000)).toEqual({ code: 0, signal: null });
    worker.signal('SIGTERM');
    await worker.exited;
    const verdict = await judged(run);
    expect(verdict.problems).toEqual([]);
    expect(verdict.steps).toBe(steps + 2);
    const verified = await command(world.env, 'ledger', 'verify', '--run', run, '--json');
    expect(verified, verified.out + verified.error).toMatchObject({ code: 0 });
  });

  it('leaves nothing trained twice in a run of an external trainer, which then finishes', async () => {
    const verified = async (): Promise<{ readonly version: number }> => {
      const report = await command(world.env, 'ledger', 'verify', '--run', STRUCK_COORDINATOR, '--json');
      expect(report, report.out + report.error).toMatchObject({ code: 0 });
      return JSON.parse(report.out) as { version: number };
    };
    const { version } = await verified();
    const worker = await start({}, ...workerOf(STRUCK_COORDINATOR));
    const last = await start(EXTERNAL_TRAINER, ...trainerOf(STRUCK_COORDINATOR), '--steps', String(version + 4));
    const trainer = await startExternalTrainer(world.config, STRUCK_COORDINATOR);
    expect(await last.exited.finally(() => trainer.stop()), last.output().slice(-2_000)).toEqual({ code: 0, signal: null });
    worker.signal('SIGTERM');
    await worker.exited;
    expect((await verified()).version).toBe(version + 4);
  });

  it('leaves every record in the tables once', async () => {
    await start({}, 'warehouse');
    expect(await waitUntilDrained(world.config, silentLogger, AbortSignal.timeout(60_000))).toBe(true);
    const audited = await command(world.env, 'audit', '--json');
    expect(audited, audited.out.slice(0, 3_000) + audited.error).toMatchObject({ code: 0 });
    expect((JSON.parse(audited.out) as { deadLetters: number }).deadLetters).toBeGreaterThanOrEqual(struck.size);
  });

  async function judged(run: string) {
    const log = await connectLog({ config: world.config, clientId: 'oracle', logger: silentLogger });
    try {
      const { facts } = await readFacts(withoutSpoilt(log.kafka.reader()), createCodec(), run);
      return judgeRun(facts);
    } finally {
      await log.close();
    }
  }
});
