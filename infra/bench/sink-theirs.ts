// The engine's own path from a topic to a table: a table with the Kafka engine that reads Avro by schema ids from a registry, and a
// materialized view that writes its rows to the same table and columns as our sink.
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { publishedSchemas } from '../../schemas/generated/events.ts';
import { contentId } from '../../schemas/subjects.ts';
import type { Store } from '../../streams/core/ports.ts';

interface EngineReader {
  readonly brokers: readonly string[];
  /** Including its namespace. */
  readonly topic: string;
  readonly registryUrl: string;
  readonly consumers: number;
  /** Rows per block. */
  readonly blockRows: number;
}

/** The part of a registry that a reader needs: schemas by id. */
export async function serveSchemas(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const texts = new Map(publishedSchemas.map(({ schema }) => [contentId(schema), schema]));
  const server: Server = createServer((request, response) => {
    const schema = texts.get(Number(/^\/schemas\/ids\/(\d+)/.exec(request.url ?? '')?.[1]));
    response.writeHead(schema === undefined ? 404 : 200, { 'content-type': 'application/vnd.schemaregistry.v1+json' });
    response.end(JSON.stringify(schema === undefined ? { error_code: 40_403, message: 'Schema not found' } : { schema }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

/** Columns of the topic's records as the engine reads them. */
const COLUMNS = `
  event_id String, run_id String, occurred_at Int64, producer String, group_id String, trajectory_id String, attempt Int32,
  worker_id String, purpose String, sequence Int32, question_id String, turn Int32,
  policy_spans Array(Tuple(version Int32, tokens Int32)), prompt_tokens Int32, completion_tokens Int32, generation_ms Float64,
  finish_reason String, text String, token_ids Array(Int32), logprobs Array(Float32), tool String, call_id String, arguments String,
  status String, error_type String, started_at Int64, latency_ms Float64, result String, result_chars Int32, result_sha256 String,
  truncated Bool, cache_hit Bool, items Array(Tuple(url String, title String)), reward Float64`;

const SELECT = `
  run_id, group_id, trajectory_id, attempt, turn, sequence, purpose, worker_id, question_id,
  arrayMin(policy_spans.version) as policy_version_min, arrayMax(policy_spans.version) as policy_version_max,
  policy_spans.version as policy_span_versions, policy_spans.tokens as policy_span_tokens, prompt_tokens, completion_tokens,
  0 as unknown_tokens, generation_ms, finish_reason, text, token_ids, logprobs, tool, call_id, status as tool_status,
  error_type as tool_error_type, fromUnixTimestamp64Micro(started_at) as tool_started_at, latency_ms as tool_ms,
  arguments as tool_arguments, result as tool_result, result_chars as tool_result_chars, result_sha256 as tool_result_sha256,
  items.url as tool_item_urls, items.title as tool_item_titles, truncated, cache_hit, reward, 0 as decision_candidates,
  0 as decision_width, -1 as decision_chosen, 0 as decision_logprob, 0 as decision_entropy, event_id,
  fromUnixTimestamp64Micro(occurred_at) as occurred_at, producer, 'rollouts' as _topic, _partition, _offset,
  assumeNotNull(_timestamp_ms) as _timestamp`;

/** Starts reading the whole topic into `turns`. */
export async function startEngineReader(store: Store, reader: EngineReader): Promise<void> {
  const { brokers, topic, registryUrl, consumers, blockRows } = reader;
  await store.command(`
    create table turns_queue (${COLUMNS}) engine = Kafka
    settings kafka_broker_list = '${brokers.join(',')}', kafka_topic_list = '${topic}', kafka_group_name = 'engine-${randomUUID()}',
      kafka_format = 'AvroConfluent', format_avro_schema_registry_url = '${registryUrl}', kafka_num_consumers = ${consumers},
      kafka_thread_per_consumer = ${consumers > 1 ? 1 : 0}, kafka_max_block_size = ${blockRows}, kafka_poll_max_batch_size = ${blockRows},
      kafka_flush_interval_ms = 1000`);
  await store.command(`create materialized view turns_feed to turns as select ${SELECT} from turns_queue`);
}

export const stopEngineReader = async (store: Store): Promise<void> => {
  await store.command('drop table if exists turns_feed sync');
  await store.command('drop table if exists turns_queue sync');
};
