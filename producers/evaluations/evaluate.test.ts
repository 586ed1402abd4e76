import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AnswerScored, EvaluationCompleted, TrajectoryRequested } from '../../schemas/generated/events.ts';
import type { EventType } from '../../schemas/generated/events.ts';
import type { DecodedEvent } from '../../schemas/codec.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventWriter } from '../../streams/core/ports.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { policyOf, policyTurn, searchThenAnswer } from '../../infra/testing/scripted-agents.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { overMemory, testWorker, type TestWorker, type WorkerOverrides } from '../../infra/testing/worker-harness.ts';
import { contentIdOf } from './content-id.ts';
import { evaluate, type EvaluateOptions, type EvaluationProgress, type TakenOver } from './evaluate.ts';
import { evaluationIdOf } from './evaluation-events.ts';
import type { Judge } from './judge.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

const started: TestWorker[] = [];
afterEach(async () => {
  for (const { worker } of started.splice(0)) await worker.stop();
});

async function work(log: MemoryLog, overrides: WorkerOverrides = {}): Promise<TestWorker> {
  const test = testWorker(overMemory(log), overrides);
  started.push(test);
  await test.worker.start(new AbortController().signal);
  return test;
}

const questions = ['Austria', 'Bhutan', 'Chad'].map((name, index) => ({
  question_id: `q-${index}`,
  question: `Which country is number ${index}?`,
  answers: [name],
  aug_answers: [],
}));

const optionsOver = (log: MemoryLog, overrides: Partial<EvaluateOptions> = {}): EvaluateOptions => ({
  ...{ runId: 'run-a', dataset: 'factbook', split: 'heldout', policyVersion: 0, samples: 2, decoding: 'greedy', reward: 'f1', seed: 1 },
  ...{ maxTurns: 8, maxTokens: 100_000, maxWallMs: 60_000, silenceMs: 10_000, maxAttempts: 3, retryMs: [1, 5] as const },
  questions,
  writer: log.writer(),
  reader: log.reader(),
  events: codecReader(log.codec),
  clock: systemClock,
  logger: silentLogger,
  ...overrides,
});

const eventsOf = (log: MemoryLog, topic: 'evaluations' | 'tasks'): readonly DecodedEvent[] =>
  log.records(topic).map((record) => {
    const read = codecReader(log.codec).read(record);
    if (!read.ok) throw new Error('unreadable');
    return read.value;
  });
const typesOf = (events: readonly DecodedEvent[]): Partial<Record<EventType, number>> => {
  const counts: Partial<Record<EventType, number>> = {};
  for (const { type } of events) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
};
const requestsOf = (log: MemoryLog): readonly TrajectoryRequested[] =>
  eventsOf(log, 'tasks').flatMap(({ type, event }) => (type === 'TrajectoryRequested' ? [event] : []));
const scoresOf = (log: MemoryLog): readonly AnswerScored[] =>
  eventsOf(log, 'evaluations').flatMap(({ type, event }) => (type === 'AnswerScored' ? [event] : []));

describe('evaluate', () => {
  it('asks the workers, records every answer and the averages', async () => {
    const log = new MemoryLog();
    await work(log, { policy: searchThenAnswer(1, 'Austria') });
    const progress: EvaluationProgress[] = [];
    const result = await evaluate(optionsOver(log, { onProgress: (each) => progress.push(each) }));
    expect(result).toMatchObject({
      ...{ questions: 3, samples: 2, dataset: 'factbook', split: 'heldout', policy_version: 0 },
      ...{ avg_f1: 1 / 3, avg_em: 1 / 3, pass_f1: 1 / 3, pass_em: 1 / 3, reward_mean: 1 / 3, turns_mean: 2, tool_calls_mean: 1 },
    });
    expect(typesOf(eventsOf(log, 'evaluations'))).toEqual({ EvaluationStarted: 1, AnswerScored: 6, EvaluationCompleted: 1 });
    expect(progress[0]).toMatchObject({ scored: 0, total: 6 });
    expect(progress.at(-1)).toMatchObject({ scored: 6, total: 6 });
    const requests = requestsOf(log);
    expect(requests).toHaveLength(6);
    for (const request of requests) {
      expect(request).toMatchObject({ purpose: 'eval', policy_version: 0, decoding: 'greedy', evaluation_id: result.evaluation_id });
      expect(request.group_id).toBe(`${result.evaluation_id}-q${request.group_index}`);
    }
    expect(new Set(requests.map(({ seed }) => seed)).size).toBe(6);
    expect(log.records('tasks').map(({ key }) => key?.toString()).sort()).toEqual(requests.map((request) => request.trajectory_id).sort()); // prettier-ignore
    expect(scoresOf(log).every(({ tokens, turns, status }) => tokens === 220 && turns === 2 && status === 'answered')).toBe(true);
  });

  it('takes pass from the best answer of a question', async () => {
    const log = new MemoryLog();
    let answers = 0;
    await work(log, {
      policy: policyOf(() => policyTurn({ tool: 'answer', answer: answers++ % 2 === 0 ? 'Austria' : 'nothing' })),
      options: { concurrency: 1 },
    });
    const [question] = questions;
    const result = await evaluate(optionsOver(log, { samples: 4, questions: question === undefined ? [] : [question] }));
    expect(result).toMatchObject({ avg_f1: 0.5, pass_f1: 1 });
  });

  it('gives the recorded result when it was completed before, and writes nothing', async () => {
    const log = new MemoryLog();
    const test = await work(log);
    const first = await evaluate(optionsOver(log));
    await test.worker.stop();
    const before = [log.records('evaluations').length, log.records('tasks').length];
    expect(await evaluate(optionsOver(log))).toEqual(first);
    expect([log.records('evaluations').length, log.records('tasks').length]).toEqual(before);
  });

  it('asks anew when it is told to, and says what it takes over', async () => {
    const log = new MemoryLog();
    await work(log, { policy: searchThenAnswer(1, 'Austria') });
    const said: TakenOver[] = [];
    const asked = (more: Partial<EvaluateOptions> = {}) =>
      evaluate(optionsOver(log, { onTakenOver: (taken) => said.push(taken), ...more }));
    const first = await asked();
    expect(said).toEqual([]);
    expect(await asked()).toEqual(first);
    expect(said).toMatchObject([{ evaluationId: first.evaluation_id, scored: 6, total: 6, isComplete: true }]);
    expect(said[0]?.begunAtMs).toBeGreaterThan(0);
    const again = await asked({ again: true });
    expect(again.evaluation_id).toBe(`${first.evaluation_id}-again1`);
    expect([said.length, requestsOf(log).length]).toEqual([1, 12]);
    expect(await asked()).toEqual(again);
    expect(said[1]).toMatchObject({ evaluationId: again.evaluation_id });
    expect((await asked({ again: true })).evaluation_id).toBe(`${first.evaluation_id}-again2`);
    // an edited module makes another evaluation
    const edited = await asked({ answering: { policy: { module: 'my-agent.mjs', sha256: 'b' } } });
    expect([said.length, requestsOf(log).length]).toEqual([2, 24]);
    expect(edited.evaluation_id).not.toContain(first.evaluation_id);
    const started = eventsOf(log, 'evaluations').flatMap(({ type, event }) => (type === 'EvaluationStarted' ? [event] : []));
    expect(started.map(({ repeat }) => repeat)).toEqual([0, 1, 2, 0]);
    expect(started.at(-1)?.subject).toBe('{"policy":{"module":"my-agent.mjs","sha256":"b"}}');
  });

  it('records what a benchmark says of a question, and prompts apart from what was generated', async () => {
    const log = new MemoryLog();
    await work(log, { policy: searchThenAnswer(1, 'Austria') });
    const [question] = questions;
    const rows = [{ ...question!, level: '2', task_id: 't-1', attachment: 'a.png' }];
    await evaluate(optionsOver(log, { samples: 1, questions: rows, leftOut: 3 }));
    expect(scoresOf(log)).toMatchObject([{ level: '2', task_id: 't-1', attachment: 'a.png', content_id: contentIdOf(rows[0]!) }]);
    for (const { tokens, prompt_tokens, generated_tokens } of scoresOf(log)) {
      expect(generated_tokens).toBeGreaterThan(0);
      expect(prompt_tokens + generated_tokens).toBe(tokens);
    }
    expect(eventsOf(log, 'evaluations')[0]?.event).toMatchObject({ left_out: 3 });
  });

  it('goes on from what the log knows after it was interrupted at any moment', async () => {
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

  it('asks again when a worker stops, and counts what never succeeds as 0 with its status', async () => {
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
    expect(failed).toMatchObject([{ status: 'failed', f1: 0, attempt: 2 }, { status: 'failed', f1: 0, attempt: 2 }]); // prettier-ignore
  });

  it('asks again when a worker vanishes with what it ran', async () => {
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

  it('asks again for a claim that was lost before it was recorded', async () => {
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
        { type: 'WorkerHeartbeat', key: 'w', event: { event_id: `w/heartbeat/${Math.random()}`, run_id: 'run-a', occurred_at: 1, producer: 'w', worker_id: 'w', policy_version: 0, capacity: 4, running: [] } }, // prettier-ignore
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

  it('ends with an error that is no outage', async () => {
    const log = new MemoryLog();
    const refusal = new PlatformError('RECORD_TOO_LARGE', 'writing EvaluationStarted: too large');
    const writer: EventWriter = { append: () => Promise.reject(refusal), close: async () => undefined };
    await expect(evaluate(optionsOver(log, { writer }))).rejects.toBe(refusal);
  });

  it('is aborted at once, before anything is asked', async () => {
    const log = new MemoryLog();
    await expect(evaluate(optionsOver(log, { signal: AbortSignal.abort(new Error('no')) }))).rejects.toThrow('no');
    expect(log.records('tasks')).toHaveLength(0);
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

  it('is done at once without questions', async () => {
    expect(await evaluate(optionsOver(new MemoryLog(), { questions: [] }))).toMatchObject({
      questions: 0,
      avg_f1: 0,
    } satisfies Partial<EvaluationCompleted>);
  });
});

describe('evaluationIdOf', () => {
  it('is a slug that names the evaluation and changes with whatever changes its scores', () => {
    const base = optionsOver(new MemoryLog());
    expect(evaluationIdOf(base)).toMatch(/^run-a-factbook-heldout-v0-greedy-n2-[0-9a-f]{8}$/);
    const others = [
      { policyVersion: 1 },
      { policyVersion: -1 },
      { samples: 3 },
      { decoding: 'sample' as const },
      { seed: 2 },
      { reward: 'em' as const },
      { maxTurns: 9 },
      { questions: questions.slice(1) },
      { questions: questions.map((question) => ({ ...question, answers: ['Chad'] })) },
      { answering: { code: 'a' } },
      { answering: { code: 'b' } },
      { answering: { code: 'b', tools: { tools: 'web' } } },
    ];
    const ids = others.map((other) => evaluationIdOf({ ...base, ...other }));
    expect(new Set([evaluationIdOf(base), ...ids]).size).toBe(others.length + 1);
  });

  it('does not depend on the order of what answers', () => {
    const base = optionsOver(new MemoryLog());
    const id = (answering: Readonly<Record<string, unknown>>): string => evaluationIdOf({ ...base, answering });
    expect(id({ a: { x: 1, y: [1, 2] }, b: 2 })).toBe(id({ b: 2, a: { y: [1, 2], x: 1 } }));
    expect(id({ a: [1, 2] })).not.toBe(id({ a: [2, 1] }));
  });
});
