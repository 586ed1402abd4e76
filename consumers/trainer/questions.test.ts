import { expect, it } from 'vitest';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { randomEvent, seeded } from '../../infra/testing/events.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { loadTrainingQuestions } from './questions.ts';

const question = (id: string, dataset: string, split: string) => ({
  type: 'QuestionAccepted' as const,
  key: id,
  event: randomEvent('QuestionAccepted', seeded(1), { question_id: id, dataset, split }),
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

it('says so when the dataset has no training question', async () => {
  const log = await logOf([]);
  const questions = await loadTrainingQuestions({ log: log.reader(), events: codecReader(log.codec) }, 'factbook', 9);
  expect(() => questions.at(0)).toThrow(/write or import some first/);
});
