import { describe, expect, it, vi } from 'vitest';
import type { EvaluationCompleted } from '../../schemas/generated/events.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { requested } from '../../infra/testing/rollout-events.ts';
import { policyOf, policyTurn, searchThenAnswer } from '../../infra/testing/scripted-agents.ts';
import { request, rolloutsOf } from '../../infra/testing/worker-harness.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import { contentIdOf } from './content-id.ts';
import { evaluate, type EvaluateOptions, type EvaluationProgress, type TakenOver } from './evaluate.ts';
import { evaluationIdOf } from './evaluation-events.ts';
import { eventsOf, optionsOver, ownWorker, questions, requestsOf, scoresOf, setUpEvaluate, typesOf, work } from './evaluate.testing.ts';

setUpEvaluate();

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

  it.each([
    ['refuses', 'MODEL_REFUSED'],
    ['fails', 'MODEL_UNAVAILABLE'],
  ] as const)('records no zeros when the model %s in the middle, and continues once it answers again', async (_, code) => {
    const log = new MemoryLog();
    let [answered, isDown] = [0, false];
    await work(log, {
      policy: policyOf(() => {
        if (isDown) throw new PlatformError(code, 'asking the model: it is gone');
        isDown = ++answered >= 2;
        return policyTurn({ tool: 'answer', answer: 'Austria' });
      }),
      options: { concurrency: 1 },
    });
    const assertAnswering = async (): Promise<void> => {
      if (isDown && code === 'MODEL_UNAVAILABLE') throw new PlatformError(code, 'asking the model: it is gone');
    };
    await expect(evaluate(optionsOver(log, { assertAnswering }))).rejects.toMatchObject({ code });
    expect(scoresOf(log).every(({ status }) => status === 'answered')).toBe(true);
    [answered, isDown] = [-100, false];
    const result = await evaluate(optionsOver(log, { assertAnswering }));
    expect(result).toMatchObject({ questions: 3, samples: 2, avg_f1: 1 / 3 });
    expect(scoresOf(log).map(({ status }) => status)).toEqual(Array<string>(6).fill('answered'));
  });

  it('starts over with `again`, and otherwise reports what it takes over', async () => {
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
    expect(JSON.parse(started.at(-1)?.subject ?? '')).toMatchObject({
      policy: { module: 'my-agent.mjs', sha256: 'b' },
      protocol: { questions: expect.any(Number) as number, max_turns: expect.any(Number) as number },
    });
  });

  it('is answered by its own worker alone, which takes nothing of the run and of other evaluations', async () => {
    const log = new MemoryLog();
    await work(log, { workerId: 'w-run', policy: searchThenAnswer(1, 'Austria') });
    await request(
      log.writer(),
      Array.from({ length: 4 }, (_, index) => requested({ trajectory: `g${index}.0` })),
    );
    const workerOf = (answer: string) => ownWorker(log, { workerId: `w-${answer}`, policy: searchThenAnswer(1, answer) });
    const [chad, bhutan, ofRun] = await Promise.all([
      evaluate(optionsOver(log, { answering: { url: 'a' }, startWorker: workerOf('Chad') })),
      evaluate(optionsOver(log, { answering: { url: 'b' }, startWorker: workerOf('Bhutan') })),
      evaluate(optionsOver(log, { answering: { url: 'a' } })),
    ]);
    const answersOf = ({ evaluation_id: id }: EvaluationCompleted) =>
      scoresOf(log).flatMap(({ evaluation_id: of, answer, status, attempt }) => (of === id ? [`${answer} ${status} ${attempt}`] : []));
    expect([chad, bhutan, ofRun].map(answersOf)).toEqual(
      ['Chad', 'Bhutan', 'Austria'].map((answer) => Array<string>(6).fill(`${answer} answered 0`)),
    );
    const addressees = requestsOf(log).map(({ addressee, evaluation_id: id }) => [addressee, id].join());
    expect(new Set(addressees)).toEqual(
      new Set([',', `,${ofRun.evaluation_id}`, ...[chad, bhutan].map(({ evaluation_id: id }) => `${id},${id}`)]),
    );
    await vi.waitFor(
      () => {
        const trained = [...rolloutsOf(log).attempts].filter(([attempt]) => attempt.startsWith('g'));
        expect(trained.map(([, events]) => events[0]?.event.worker_id)).toEqual(Array(4).fill('w-run'));
      },
      { timeout: 20_000 },
    );
  });

  it('records the benchmark fields of a question, and prompt tokens apart from generated tokens', async () => {
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

  it('is aborted at once, before anything is requested', async () => {
    const log = new MemoryLog();
    await expect(evaluate(optionsOver(log, { signal: AbortSignal.abort(new Error('no')) }))).rejects.toThrow('no');
    expect(log.records('tasks')).toHaveLength(0);
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
      { hasOwnWorker: true },
    ];
    const ids = others.map((other) => evaluationIdOf({ ...base, ...other }));
    expect(new Set([evaluationIdOf(base), ...ids]).size).toBe(others.length + 1);
  });

  it('does not depend on the order of the keys in `answering`', () => {
    const base = optionsOver(new MemoryLog());
    const id = (answering: Readonly<Record<string, unknown>>): string => evaluationIdOf({ ...base, answering });
    expect(id({ a: { x: 1, y: [1, 2] }, b: 2 })).toBe(id({ b: 2, a: { y: [1, 2], x: 1 } }));
    expect(id({ a: [1, 2] })).not.toBe(id({ a: [2, 1] }));
  });
});
