import { expect, it, onTestFinished, vi } from 'vitest';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { randomEvent, seeded } from '../../infra/testing/events.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { loadTrainingQuestions } from './questions.ts';
import type { TrainingQuestions } from '../../streams/trainer/training-questions.ts';

const question = (id: string, dataset: string, split: string) => ({
  type: 'QuestionAccepted' as const,
  key: id,
  event: randomEvent('QuestionAccepted', seeded(1), { event_id: `questions/${dataset}/${id}`, question_id: id, dataset, split }),
});

async function logOf(ids: readonly string[]): Promise<MemoryLog> {
  const log = new MemoryLog();
  await log.writer().append(ids.map((id) => question(id, 'factbook', 'train')));
  await log.writer().append([question('other', 'hotpot', 'train'), question('held', 'factbook', 'heldout')]);
  return log;
}

it('asks every training question of the dataset once an epoch, whatever the order they were accepted in', async () => {
  const ids = ['q-3', 'q-1', 'q-2', 'q-5', 'q-4'];
  const [one, other] = [await logOf(ids), await logOf([...ids].reverse())];
  const load = (log: MemoryLog) => loadTrainingQuestions({ log: log.reader(), events: codecReader(log.codec) }, 'factbook', 9);
  const [a, b] = [await load(one), await load(other)];
  const order = Array.from({ length: 10 }, (_, index) => a.at(index).question_id);
  expect(new Set(order.slice(0, 5))).toEqual(new Set(ids));
  expect(new Set(order.slice(5))).toEqual(new Set(ids));
  expect(Array.from({ length: 10 }, (_, index) => b.at(index).question_id)).toEqual(order);
  expect(a.count).toBe(5);
});

const verdict = (id: string, word: 'accept' | 'reject', at: number) => {
  const type = word === 'accept' ? ('QuestionAccepted' as const) : ('QuestionRejected' as const);
  const event_id = `questions/factbook/${id}/review/${at}/${word}`;
  const event = randomEvent(type, seeded(1), { event_id, question_id: id, dataset: 'factbook', split: 'train' });
  return { type, key: id, event } as OutgoingEvent;
};

it('asks no question that a human rejected, and leaves every other admission as it was', async () => {
  const ids = Array.from({ length: 12 }, (_, at) => `q-${at}`);
  const log = await logOf(ids);
  const load = () => loadTrainingQuestions({ log: log.reader(), events: codecReader(log.codec) }, 'factbook', 9);
  const orderOf = (questions: TrainingQuestions) => Array.from({ length: 36 }, (_, index) => questions.at(index).question_id);
  const before = orderOf(await load());
  await log.writer().append([verdict('q-3', 'reject', 1), verdict('q-7', 'reject', 2), verdict('q-7', 'accept', 3)]);
  const questions = await load();
  expect(questions.count).toBe(11);
  const after = orderOf(questions);
  expect(after).not.toContain('q-3');
  expect(after.filter((id, index) => id !== before[index])).toHaveLength(3);
  after.forEach((id, index) => {
    if (before[index] !== 'q-3') expect(id).toBe(before[index]);
  });
  expect(questions.find('q-3')).toMatchObject({ question_id: 'q-3' });

  await log.writer().append([verdict('q-3', 'accept', 4)]);
  expect(orderOf(await load())).toEqual(before);
});

it('follows verdicts during a run, but no new questions', async () => {
  const log = await logOf(['q-1', 'q-2', 'q-3']);
  const questions = await loadTrainingQuestions({ log: log.reader(), events: codecReader(log.codec) }, 'factbook', 9);
  const order = () => Array.from({ length: 3 }, (_, index) => questions.at(index).question_id).sort();
  const following = await questions.follow((error) => {
    throw error;
  });
  onTestFinished(() => following.close());
  await log.writer().append([question('q-0', 'factbook', 'train'), verdict('q-2', 'reject', 1)]);
  await vi.waitFor(() => {
    expect(questions.count).toBe(2);
  });
  expect(new Set(order())).toEqual(new Set(['q-1', 'q-3']));
  await log.writer().append([verdict('q-1', 'reject', 2), verdict('q-3', 'reject', 3)]);
  await vi.waitFor(() => {
    expect(questions.count).toBe(0);
  });
  expect(() => questions.at(0)).toThrow(/write or import some first/);
});

it('fails with advice when the dataset has no training question', async () => {
  const log = await logOf([]);
  const questions = await loadTrainingQuestions({ log: log.reader(), events: codecReader(log.codec) }, 'factbook', 9);
  expect(() => questions.at(0)).toThrow(/write or import some first/);
});
