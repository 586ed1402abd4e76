import { expect, it } from 'vitest';
import { partitionOf } from './partitioner.ts';

// toPositive(murmur2(key)) % 12, computed by org.apache.kafka.common.utils.Utils of Kafka 4.3.0
it.each([
  ['turnstream', 10],
  ['run-a', 2],
  ['g0.1', 9],
  ['', 9],
  ['ключ', 8],
  ['a-much-longer-key-0123456789', 1],
])('puts %j where the Java client puts it', (key, partition) => {
  expect(partitionOf(key, 12)).toBe(partition);
  expect(partitionOf(Buffer.from(key), 12)).toBe(partition);
});
