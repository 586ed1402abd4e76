import { expect, it } from 'vitest';
import { createFakeStore } from '../../../infra/testing/fake-store.ts';
import { listDeadLetters } from './questions.reader.ts';

it('reads the bytes of one record by the sort key of the table, and the list from the view', async () => {
  const store = createFakeStore();
  await listDeadLetters(store, { limit: 1, fields: ['original_value_base64'], topic: 'rollouts', partition: 3, offset: 7 });
  await listDeadLetters(store, { limit: 1, reason: 'empty' });
  const [one, list] = store.asked;
  const [before] = one?.sql.split('limit 1 by event_id') ?? [];
  expect(before).toContain(
    'from dead_letter_events where original_topic = {original_topic_is:String} and original_partition = {original_partition_is:Int32}' +
      ' and original_offset = {original_offset_is:Int64}',
  );
  expect(one?.params).toMatchObject({ original_topic_is: 'rollouts', original_partition_is: 3, original_offset_is: 7 });
  expect(list?.sql).toContain('from dead_letters\nwhere reason = {reason_is:String}');
});
