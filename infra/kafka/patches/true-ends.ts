// An admin client that lists the true end of a partition.
//
// Reason: kafkajs always lists the last stable offset: a read that begins right after a commit would end before it.
// Upstream: https://github.com/tulios/kafkajs/issues/202 made read_committed the only behavior.
import type { Kafka } from 'kafkajs';
import { clusterFactoryOf } from './cluster.ts';

/** As in the protocol. */
const READ_UNCOMMITTED = 0;

/** Changes the client, and returns it. */
export function withTrueEnds(kafka: Kafka): Kafka {
  const { create, replace } = clusterFactoryOf(kafka);
  replace((settings) => create({ ...settings, isolationLevel: READ_UNCOMMITTED }));
  return kafka;
}
