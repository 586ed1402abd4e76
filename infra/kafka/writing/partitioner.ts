import { kafkajs } from '../patches/kafkajs.ts';

const select = kafkajs.Partitioners.DefaultPartitioner();

/** The partition that Kafka's Java producer assigns to this key (murmur2). */
export function partitionOf(key: string | Buffer, partitions: number): number {
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionId,
    leader: 0,
    partitionErrorCode: 0,
    replicas: [],
    isr: [],
  }));
  return select({ topic: '', partitionMetadata, message: { key, value: null } });
}
