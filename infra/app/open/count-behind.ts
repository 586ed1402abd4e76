// How far the tables lag behind the log.
import { warehouseTopics } from '../../../consumers/warehouse/rows/tables.ts';
import type { KafkaConnection } from '../../kafka/connect.ts';

/** Records of the log that the sink has not committed: they are not in the tables yet. */
export async function countBehind(kafka: Pick<KafkaConnection, 'lag'>, group: string): Promise<number> {
  const topics = await Promise.all(warehouseTopics.map((topic) => kafka.lag(group, topic)));
  return topics.flat().reduce((sum, { lag }) => sum + lag, 0);
}
