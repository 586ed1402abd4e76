import { describe, expect, it, vi } from 'vitest';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventWriter } from '../../streams/core/ports.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { policyOf, policyTurn, searchThenAnswer } from '../../infra/testing/scripted-agents.ts';
import { overMemory, rolloutsOf, testWorker } from '../../infra/testing/worker-harness.ts';
import { evaluate, type EvaluationProgress } from './evaluate.ts';
import { evaluationIdOf } from './evaluation-events.ts';
import type { Judge } from '../judge/judge.ts';
import { eventsOf, optionsOver, ownWorker, requestsOf, scoresOf, setUpEvaluate, typesOf, work } from './evaluate.testing.ts';

setUpEvaluate();

describe('an evaluation that does not succeed at once', () => {
  it('continues from what the log holds after an interruption at any moment', async () => {
    for (let interruptAt = 0; interruptAt < 6; interruptAt += 1) {
      const log = new MemoryLog();
      const test = await work(log, { options: { concurrency: 1 } });
      const controller = new AbortController();
      const onProgress = ({ scored }: EvaluationProgress): void => {
        if (scored >= interruptAt) controller.abort(new Error('interrupted'));
      };
      await expect(evaluate(optionsOver(log, { signal: controller.signal, onProgress }))).rejects.toThrow('interrupted');
      const result = await evaluate(optionsOver(log));
      expect(result).toMatchObject({ questions: 3, avg_f1: 1 / 3 });
      expect(typesOf(eventsOf(log, 'evaluations'))).toEqual({ EvaluationStarted: 1, AnswerScored: 6, EvaluationCompleted: 1 });
      expect(requestsOf(log).map((request) => request.attempt)).toEqual(Array(6).fill(0));
      await test.worker.stop();
    }
  });

  it('continues with a new worker of its own, which takes the tasks that the interrupted call requested', async () => {
    const log = new MemoryLog();
    const controller = new AbortController();
    const addressees: string[] = [];
    const noWorker = async (addressee: string): Promise<void> => void addressees.push(addressee);
    const first = evaluate(optionsOver(log, { signal: controller.signal, startWorker: noWorker }));
    await vi.waitFor(
      () => {
        expect(requestsOf(log)).toHaveLength(6);
      },
      { timeout: 20_000 },
    );
    controller.abort(new Error('interrupted'));
    await expect(first).rejects.toThrow('interrupted');
    await work(log, { workerId: 'w-run' });
    const startWorker = async (addressee: string): Promise<void> => {
      addressees.push(addressee);
      await ownWorker(log)(addressee);
    };
    const result = await evaluate(optionsOver(log, { startWorker }));
    expect(addressees).toEqual([result.evaluation_id, result.evaluation_id]);
    expect(requestsOf(log).map(({ attempt }) => attempt)).toEqual(Array(6).fill(0));
    expect([...rolloutsOf(log).attempts.values()].map(([start]) => start?.event.worker_id)).toEqual(Array(6).fill('w-own'));
    // a complete evaluation needs no worker
    expect(await evaluate(optionsOver(log, { startWorker }))).toEqual(result);
    expect(addressees).toHaveLength(2);
  });

  it('requests answers again when a worker stops, and scores one that never succeeds as 0 with its status', async () => {
    const log = new MemoryLog();
    const gone = await work(log, {
      workerId: 'w-gone',
      policy: policyOf(() => new Promise<never>(() => undefined)),
      options: { graceMs: 1 },
    });
    const evaluation = evaluate(optionsOver(log));
    await vi.waitFor(
      () => {
        expect(gone.status()?.figures['running']).toBe(4);
      },
      { timeout: 20_000 },
    );
    await gone.worker.stop();
    await work(log, { workerId: 'w-new', policy: policyOf(({ question }) => { if (question.includes('2')) throw new TypeError('bug'); return policyTurn({ tool: 'answer', answer: 'Austria' }); }) }); // prettier-ignore
    await evaluation;
    const attempts = requestsOf(log).map((request) => request.attempt);
    expect(attempts.filter((attempt) => attempt > 0).length).toBeGreaterThanOrEqual(4);
    const failed = scoresOf(log).filter((score) => score.question_id === 'q-2');
    expect(failed.map(({ status, f1 }) => `${status} ${f1}`)).toEqual(['failed 0', 'failed 0']);
    // three tries after the attempt that was cancelled
    for (const { attempt } of failed) expect([2, 3]).toContain(attempt);
  });

  it('requests answers again when a worker vanishes without ending its attempts', async () => {
    const log = new MemoryLog();
    const memory = overMemory(log);
    let dead = false;
    const writer: EventWriter = {
      append: (events) => (dead ? new Promise<never>(() => undefined) : memory.writer.append(events)),
      close: async () => undefined,
    };
    const crashing = testWorker(
      { ...memory, writer },
      { workerId: 'w-crash', policy: policyOf(() => new Promise<never>(() => undefined)) },
    );
    await crashing.worker.start(new AbortController().signal);
    const evaluation = evaluate(optionsOver(log, { silenceMs: 500 }));
    await vi.waitFor(
      () => {
        expect(crashing.status()?.figures['running']).toBe(4);
      },
      { timeout: 20_000 },
    );
    dead = true;
    await memory.tasks.close();
    await work(log, { workerId: 'w-new' });
    const result = await evaluation;
    expect(result).toMatchObject({ avg_f1: 1 / 3 });
    expect(requestsOf(log).filter((request) => request.attempt === 1)).toHaveLength(4);
  });

  it('requests an answer again when a worker claimed its task but never recorded a start', async () => {
    const log = new MemoryLog({ partitions: { tasks: 1 } });
    log.setOffsets('memory.workers.run-a', [{ topic: 'tasks', partition: 0, offset: 2 }]);
    await work(log);
    await evaluate(optionsOver(log, { silenceMs: 500 }));
    const repeated = requestsOf(log).filter((request) => request.attempt === 1);
    expect(repeated.map((request) => request.trajectory_id)).toEqual(requestsOf(log).slice(0, 2).map((request) => request.trajectory_id)); // prettier-ignore
  });

  it('counts answers as lost when no attempt at them ever ends', async () => {
    const log = new MemoryLog();
    const beat = setInterval(() => {
      void log.writer().append([
        { type: 'WorkerHeartbeat', key: 'w', event: { event_id: `w/heartbeat/${Math.random()}`, run_id: 'run-a', occurred_at: 1, producer: 'w', worker_id: 'w', policy_version: 0, capacity: 4, running: [], addressee: '' } }, // prettier-ignore
      ]);
    }, 5);
    const result = await evaluate(optionsOver(log, { silenceMs: 20 })).finally(() => {
      clearInterval(beat);
    });
    expect(result).toMatchObject({ avg_f1: 0, turns_mean: 0 });
    expect(scoresOf(log).map(({ status, attempt }) => `${status} ${attempt}`)).toEqual(Array(6).fill('lost 2'));
    expect(requestsOf(log)).toHaveLength(18);
  });

  it('waits for an outage to end', async () => {
    const log = new MemoryLog();
    await work(log);
    for (let fault = 0; fault < 4; fault += 1) log.failNext('append');
    expect(await evaluate(optionsOver(log))).toMatchObject({ questions: 3 });
  });

  it('rejects with an error that is not an outage', async () => {
    const log = new MemoryLog();
    const refusal = new PlatformError('RECORD_TOO_LARGE', 'writing EvaluationStarted: too large');
    const writer: EventWriter = { append: () => Promise.reject(refusal), close: async () => undefined };
    await expect(evaluate(optionsOver(log, { writer }))).rejects.toBe(refusal);
  });

  it('records a score with the verdict of the judge, and goes on with the answers that have none', async () => {
    const log = new MemoryLog();
    await work(log, { policy: searchThenAnswer(1, 'Austria') });
    let asked = 0;
    const judge: Judge = {
      name: 'judge-7b',
      judge: async ({ golds, answer }) => {
        asked += 1;
        if (asked === 3) throw new PlatformError('MODEL_UNAVAILABLE', 'judging answers: away');
        return golds.includes(answer) ? { verdict: 'correct', reason: 'same', tries: 1 } : { verdict: 'invalid', reason: '?', tries: 3 };
      },
    };
    const patient = optionsOver(log, { judge, silenceMs: 60_000 });
    await expect(evaluate(patient)).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE' });
    expect(scoresOf(log).length).toBeLessThan(6);
    const result = await evaluate(patient);
    expect(requestsOf(log)).toHaveLength(6);
    const scores = scoresOf(log);
    expect(scores.filter(({ question_id: id }) => id === 'q-0')).toMatchObject(Array(2).fill({ judge: 'judge-7b', verdict: 'correct', judge_tries: 1 })); // prettier-ignore
    expect(scores.filter(({ question_id: id }) => id !== 'q-0')).toMatchObject(Array(4).fill({ verdict: 'invalid', judge_reason: '?' }));
    expect(result.evaluation_id).not.toBe(evaluationIdOf(optionsOver(log)));
  });
});
