import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import type { MemoryLog } from '../../infra/testing/memory-log.ts';
import { bodyOf } from '../../schemas/framing.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import { isLedgerType, type LedgerEntry } from '../../streams/ledger/chain.ts';
import { createLedgerVerifier } from '../../streams/run/verify-ledger.ts';
import type { TrainerDeps } from './deps.ts';
import { runTrainer } from './trainer.ts';
import { depsOf, hashLearner, madeRun, never, openWith, replayed, settings, setUpReplay, sha } from './replay.testing.ts';

setUpReplay();

describe('a run that was continued after its end', () => {
  /** The ledger entries, the weights that they name, and the verifier's result. */
  async function ledgerOf(log: MemoryLog) {
    const verifier = createLedgerVerifier();
    const events = codecReader(log.codec);
    const entries: LedgerEntry[] = [];
    for (const topic of ['training', 'policies'] as const) {
      await log.reader().readToEnd(topic, {
        onBatch: async ({ records }) => {
          for (const record of records) {
            const read = events.read(record);
            if (!read.ok) continue;
            if (read.value.type === 'PolicyPublished') verifier.policy(read.value.event, sha(read.value.event.weights).toString('hex'));
            if (!isLedgerType(read.value.type)) continue;
            entries.push(read.value as LedgerEntry);
            verifier.entry(read.value as LedgerEntry, bodyOf(record.value!), record.offset);
          }
        },
      });
    }
    return { entries, report: verifier.report() };
  }
  const stepsOf = (entries: readonly LedgerEntry[]) => entries.flatMap(({ type, event }) => (type === 'StepCompleted' ? [event] : []));

  /** A run that stops and continues at each of these steps; it ends at the last of them. */
  async function continued(ends: readonly number[], algorithm: string): Promise<MemoryLog> {
    const at = (steps: number): Partial<TrainerDeps> => ({
      settings: { ...settings, steps, algorithm },
      learner: hashLearner({ algorithm }),
      producer: `trainer/t-${steps}`,
    });
    const [first = 1, ...later] = ends;
    const log = await madeRun(at(first));
    for (const steps of later) await runTrainer(depsOf(log, at(steps)), never);
    return log;
  }

  it('verifies, replays completely, and trains on the same trajectories as a run without an end in between', async () => {
    const ends = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { minLength: 2, maxLength: 4 }).map((all) => all.sort((a, b) => a - b));
    await fc.assert(
      fc.asyncProperty(ends, fc.constantFrom('grpo', 'reinforce'), async (made, algorithm) => {
        const last = made.at(-1) ?? 0;
        const log = await continued(made, algorithm);
        const { entries, report } = await ledgerOf(log);
        expect(report).toMatchObject({ ok: true, problems: [], steps: last, finished: true, continued: made.length - 1 });
        expect(report.admitted).toBe(report.trained + report.discarded + report.open);
        const said = entries.flatMap(({ type, event }) => (type === 'RunFinished' || type === 'RunContinued' ? [[type, event.steps]] : []));
        expect(said).toEqual(
          made.flatMap((steps, i) => [...(i === 0 ? [] : [['RunContinued', steps] as const]), ['RunFinished', steps] as const]),
        );
        const { steps, differing } = await replayed(log, { openLearner: openWith({}) });
        expect([steps.length, differing]).toEqual([last, 0]);
        const whole = await ledgerOf(await continued([last], algorithm));
        const trained = (all: readonly LedgerEntry[]) =>
          stepsOf(all).map(({ trajectories }) => trajectories.map(({ trajectory_id: id }) => id));
        expect(trained(entries)).toEqual(trained(whole.entries));
        // REINFORCE loses its buffer when the process ends, so only its batches are the same
        if (algorithm === 'grpo') expect(stepsOf(entries).at(-1)?.weights_sha256).toBe(stepsOf(whole.entries).at(-1)?.weights_sha256);
      }),
      { numRuns: 4 },
    );
  }, 90_000);

  it('continues to its new end even after another stop, and is noted as ended only while it is', async () => {
    const notes: (number | undefined)[] = [];
    const ends = { write: async (steps: number) => void notes.push(steps), remove: async () => void notes.push(undefined) };
    const log = await madeRun({ ends, settings: { ...settings, steps: 1 } });
    const open = (over: Partial<TrainerDeps>) => depsOf(log, { ends, ...over });
    for (const steps of [0, 1]) {
      await expect(runTrainer(open({ settings: { ...settings, steps } }), never)).rejects.toMatchObject({
        code: 'RUN_FINISHED',
        message: expect.stringMatching(/finished after step 1\. .*`turnstream serve`.*`turnstream up --run run-a --steps 2`/) as string,
      });
    }
    const stop = new AbortController();
    const report: TrainerDeps['report'] = ({ figures }) => {
      if ((figures['step'] ?? 0) >= 2) stop.abort();
    };
    expect(await runTrainer(open({ settings: { ...settings, steps: 4 }, report }), stop.signal)).toMatchObject({ kind: 'stopped' });
    expect((await ledgerOf(log)).report).toMatchObject({ ok: true, finished: false, continued: 1 });
    expect(await runTrainer(open({ settings: { ...settings, steps: 0 } }), never)).toEqual({ kind: 'finished', version: 4 });
    expect((await ledgerOf(log)).report).toMatchObject({ ok: true, steps: 4, finished: true, continued: 1 });
    expect(notes).toEqual([1, 1, 1, undefined, 4]);
    const failing = { write: () => Promise.reject(new Error('EROFS')), remove: async () => undefined };
    await expect(runTrainer(open({ ends: failing }), never), 'a note is only advice').rejects.toMatchObject({ code: 'RUN_FINISHED' });
  });

  it('is continued by the next trainer when the continuation cannot be committed', async () => {
    const log = await madeRun({ settings: { ...settings, steps: 1 } });
    for (const point of ['commit', 'commit_answer'] as const) {
      const openWriter = async () => {
        const writer = await log.transactional('trainer.run-a');
        return {
          ...writer,
          commit: async (work: Parameters<typeof writer.commit>[0]) => {
            if (work.events.some(({ type }) => type === 'RunContinued'))
              log.failNext(point, new PlatformError('KAFKA_UNAVAILABLE', 'cut off'));
            return writer.commit(work);
          },
        };
      };
      await expect(runTrainer(depsOf(log, { openWriter }), never)).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    }
    expect(await runTrainer(depsOf(log, {}), never)).toEqual({ kind: 'finished', version: 4 });
    expect((await ledgerOf(log)).report).toMatchObject({ ok: true, steps: 4, continued: 1 });
  });
});
