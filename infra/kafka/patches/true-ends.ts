// An admin client that lists the true end of a partition.
//
// Reason: kafkajs always lists the last stable offset: a read that begins right after a commit would end before it.
// The patch hooks into the function that creates connections, which kafkajs stores under a symbol; connect.int.test.ts fails if it
// disappears.
// Upstream: https://github.com/tulios/kafkajs/issues/202 made read_committed the only behavior.
import type { Kafka } from 'kafkajs';

/** As in the protocol. */
const READ_UNCOMMITTED = 0;

/** Changes the client, and returns it. */
export function withTrueEnds(kafka: Kafka): Kafka {
  const key = Object.getOwnPropertySymbols(kafka).find((symbol) => symbol.description === 'private:Kafka:createCluster');
  const holder = kafka as unknown as Record<symbol, (settings: object) => unknown>;
  const createCluster = key === undefined ? undefined : holder[key];
  if (key === undefined || createCluster === undefined)
    throw new TypeError('this version of kafkajs creates its connections in another way');
  holder[key] = (settings) => createCluster({ ...settings, isolationLevel: READ_UNCOMMITTED });
  return kafka;
}
