// An evaluation through a real broker, interrupted and continued.
import { expect, it, onTestFinished } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import type { DecodedEvent } from '../../schemas/codec.ts';
import { connectKafka } from '../../infra/kafka/connect.ts';
import { topicPlanOf } from '../../infra/kafka/topics/topics.ts';
import { createEventReader } from '../../infra/registry/event-reader.ts';
import { useKafka } from '../../infra/testing/kafka.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { slowSearches } from '../../infra/testing/scripted-agents.ts';
import { beginTasks, testWorker } from '../../infra/testing/worker-harness.ts';
import { evaluate, type EvaluateOptions } from './evaluate.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

const questions = Array.from({ length: 10 }, (_, index) => ({
  question_id: `q-${index}`,
  question: `Which country is number ${index}?`,
  answers: [index % 2 === 0 ? 'Austria' : 'Bhutan'],
  aug_answers: [],
}));

it('asks, scores, goes on after an interruption, and gives the recorded result afterwards', async () => {
  const { brokers, namespace } = await useKafka();
  const codec = createCodec();
  const events = createEventReader(codec, { byId: async () => undefined });
  const kafka = connectKafka({ brokers, namespace, clientId: 'test', codec, logger: silentLogger });
  onTestFinished(() => kafka.close());
  await kafka.topics.apply(topicPlanOf({ replication: 1, partitionsRollouts: 2, partitionsTasks: 4, retentionHours: -1 }));
  await beginTasks(kafka, namespace, 4);
  const writer = await kafka.writer();
  const { worker } = testWorker(
    { writer, reader: events, tasks: kafka.group(), offsets: kafka.offsets, log: kafka.reader() },
    { namespace, policy: slowSearches(1, 20), options: { heartbeatMs: 500 } },
  );
  onTestFinished(() => worker.stop());
  await worker.start(new AbortController().signal);
  const options: EvaluateOptions = {
    ...{ runId: 'run-a', dataset: 'factbook', split: 'heldout', policyVersion: 0, samples: 2, decoding: 'greedy', reward: 'f1', seed: 1 },
    ...{ maxTurns: 8, maxTokens: 100_000, maxWallMs: 60_000, silenceMs: 20_000, maxAttempts: 3, questions },
    ...{ writer, reader: kafka.reader(), events, clock: systemClock, logger: silentLogger },
  };

  const controller = new AbortController();
  const onProgress = ({ scored }: { readonly scored: number }): void => {
    if (scored >= 3) controller.abort(new Error('interrupted'));
  };
  await expect(evaluate({ ...options, signal: controller.signal, onProgress })).rejects.toThrow('interrupted');
  const result = await evaluate(options);
  expect(result).toMatchObject({ questions: 10, samples: 2, avg_f1: 0.5, avg_em: 0.5, pass_f1: 0.5, turns_mean: 2, tool_calls_mean: 1 });
  expect(await evaluate(options)).toEqual(result);

  const recorded: DecodedEvent[] = [];
  for (const topic of ['evaluations', 'tasks'] as const) {
    await kafka.reader().readToEnd(topic, {
      onBatch: async ({ records }) => {
        for (const record of records) {
          const read = await events.read(record);
          if (read.ok) recorded.push(read.value);
        }
      },
    });
  }
  const idsOf = (wanted: string): string[] => recorded.filter(({ type }) => type === wanted).map(({ event }) => event.event_id);
  expect(new Set(idsOf('AnswerScored')).size).toBe(20);
  expect(idsOf('EvaluationCompleted')).toHaveLength(1);
  expect(idsOf('TrajectoryRequested')).toHaveLength(20);
});
