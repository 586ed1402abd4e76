import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fetchSizeOf, type FetchingClass } from './fetch-size.ts';

interface PartBytes {
  readonly packedBytes: number;
  readonly plainBytes: number;
}

const MiB = 1_048_576;
const limits = { maxBytes: 12 * MiB, maxBytesPerPartition: 2 * MiB };

/** A response: records of these sizes, and a partition without records. */
const responseOf = (...parts: readonly PartBytes[]) => [...parts.map((part) => ({ rawMessages: [{ part }] })), { rawMessages: [] }];

/** Like a member of a group in kafkajs; it receives these responses. */
function memberOf(...responses: readonly object[]) {
  const waiting = [...responses];
  class Member {
    maxBytes = limits.maxBytes;
    maxBytesPerPartition = limits.maxBytesPerPartition;
    async fetch(): Promise<unknown> {
      return waiting.shift();
    }
  }
  return new (fetchSizeOf(Member as unknown as FetchingClass))();
}

const parts = fc.array(
  fc
    .record({ packedBytes: fc.integer({ min: 62, max: MiB }), ratio: fc.integer({ min: 1, max: 255 }) })
    .map(({ packedBytes, ratio }) => ({ packedBytes, plainBytes: packedBytes * ratio })),
  { minLength: 1, maxLength: 4 },
);

it('requests as many compressed bytes as are expected to fit the limits when decompressed', async () => {
  await fc.assert(
    fc.asyncProperty(parts, async (fetched) => {
      const response = responseOf(...fetched);
      const member = memberOf(response);
      expect(await member.fetch('0')).toBe(response);
      const sum = (of: (part: PartBytes) => number): number => fetched.reduce((total, part) => total + of(part), 0);
      const share = sum(({ packedBytes }) => packedBytes) / sum(({ plainBytes }) => plainBytes);
      expect(member.maxBytes).toBe(Math.max(MiB / 4, Math.floor(limits.maxBytes * share)));
      expect(member.maxBytesPerPartition).toBe(Math.max(MiB / 4, Math.floor(limits.maxBytesPerPartition * share)));
    }),
  );
});

it('starts at a quarter of the limits, stays there after an empty response, and reaches the limits if nothing is compressed', async () => {
  const member = memberOf(
    responseOf(),
    responseOf({ packedBytes: 1_000, plainBytes: 3_000 }),
    responseOf(),
    responseOf({ packedBytes: 1_000, plainBytes: 1_000 }),
  );
  const seen = [member.maxBytes];
  for (let fetched = 0; fetched < 4; fetched += 1) {
    await member.fetch('0');
    seen.push(member.maxBytes);
  }
  expect(seen).toEqual([3 * MiB, 3 * MiB, 4 * MiB, 4 * MiB, 12 * MiB]);
});
