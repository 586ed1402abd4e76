import { expect, it } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { eventTypes, outgoing, randomEvent, randomEvents, seeded } from './events.ts';
import { namesNobodyUses } from './source-text.ts';

const codec = createCodec();

it.each(eventTypes)('makes %s events that survive the codec unchanged', (type) => {
  const random = seeded(1);
  for (let turn = 0; turn < 50; turn += 1) {
    const event = randomEvent(type, random);
    expect(codec.decode(codec.encode(type, event))).toEqual({ ok: true, value: { type, event } });
  }
});

it('gives every event a key', () => {
  for (const event of randomEvents(200, seeded(2))) expect(event.key).not.toBe('undefined');
  expect(outgoing('WorkerHeartbeat', randomEvent('WorkerHeartbeat', seeded(3), { worker_id: 'w' })).key).toBe('w');
});

it('finds a process that writes each type of event', () => {
  expect(namesNobodyUses(eventTypes, ['producers', 'consumers', 'infra'])).toEqual([]);
});
