import type { Admin, Kafka } from 'kafkajs';
import { expect, it, vi } from 'vitest';
import { createSharedAdmin } from './admin.ts';

const kafkaOf = (): Kafka =>
  ({ admin: () => ({ connect: async () => undefined, disconnect: async () => undefined }) as unknown as Admin }) as unknown as Kafka;

/** As kafkajs reports it after its own retries. */
const givenUp = (type: string): Error =>
  Object.assign(new Error('retries exceeded', { cause: Object.assign(new Error(type), { type, retriable: true }) }), { retriable: false });

it('retries while a group has no coordinator, although kafkajs has given up', async () => {
  vi.useFakeTimers();
  try {
    let tries = 0;
    const asked = createSharedAdmin(kafkaOf()).use('asking', async () => {
      tries += 1;
      if (tries < 4) throw givenUp('GROUP_LOAD_IN_PROGRESS');
      return tries;
    });
    await vi.runAllTimersAsync();
    expect(await asked).toBe(4);
  } finally {
    vi.useRealTimers();
  }
});

it('does not retry after a final error', async () => {
  const work = vi.fn(() => Promise.reject(givenUp('GROUP_AUTHORIZATION_FAILED')));
  await expect(createSharedAdmin(kafkaOf()).use('asking', work)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  expect(work).toHaveBeenCalledTimes(1);
});
