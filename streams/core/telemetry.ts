// Every metric, declared once: `<area>_<noun>_<unit>_total` for counters. Roles take the Metrics port; the adapter in infra/telemetry
// renders it as Prometheus text.

export const metricTable = {
  worker_turns_total: { kind: 'counter', labels: ['tool', 'status'], help: 'Turns recorded.' },
  worker_prefix_breaks_total: {
    kind: 'counter',
    labels: [],
    help: 'Prompts that did not begin with the tokens of an earlier prompt and its completion; each begins a branch.',
  },
  worker_trajectories_total: { kind: 'counter', labels: ['status'], help: 'Attempts finished.' },
  worker_running: { kind: 'gauge', labels: [], help: 'Trajectories running now.' },
  worker_events_waiting: {
    kind: 'gauge',
    labels: [],
    help: 'Events that Kafka has not acknowledged yet; agents pause when the limit is reached.',
  },
  worker_tool_seconds: { kind: 'histogram', labels: ['tool', 'status'], help: 'Latency of tool calls.' },
  worker_verdicts_total: {
    kind: 'counter',
    labels: ['verdict'],
    help: 'Answers put to the judge of the reward: correct, incorrect, invalid, or none when it gave no verdict.',
  },
  worker_judge_seconds: { kind: 'histogram', labels: [], help: 'Time from an answer to the verdict that is part of its reward.' },
  worker_policy_version: { kind: 'gauge', labels: [], help: 'Newest policy version known.' },
  llm_requests_total: { kind: 'counter', labels: ['outcome'], help: 'Requests to the language model, retries included.' },
  llm_request_seconds: { kind: 'histogram', labels: ['outcome'], help: 'Duration of requests to the language model.' },
  llm_queue_seconds: { kind: 'histogram', labels: [], help: 'Time that a generation waits for the concurrency limit of its worker.' },
  llm_retries_total: { kind: 'counter', labels: [], help: 'Failed generations that were retried.' },
  llm_retry_seconds: { kind: 'histogram', labels: [], help: 'Time that a generation lost to failed requests and backoff.' },
  llm_first_token_seconds: { kind: 'histogram', labels: [], help: 'Time from sending a request to its first token.' },
  worker_tool_queue_seconds: {
    kind: 'histogram',
    labels: ['tool'],
    help: 'Time that a tool call waits for the concurrency limit of its worker.',
  },
  worker_tool_retries_total: { kind: 'counter', labels: ['tool'], help: 'Failed tool calls that were retried.' },
  worker_tool_server_seconds: {
    kind: 'histogram',
    labels: ['tool'],
    help: 'Time that the service behind a tool took for the last attempt of a call.',
  },
  llm_tokens_total: { kind: 'counter', labels: ['kind'], help: 'Prompt and completion tokens.' },
  llm_foreign_versions_total: {
    kind: 'counter',
    labels: [],
    help: 'Answers with tokens from weights that are labeled for another run; the version of these tokens is unknown.',
  },
  llm_running: { kind: 'gauge', labels: ['state'], help: 'Generations that are running or queued.' },
  engine_updates_total: {
    kind: 'counter',
    labels: ['engine', 'outcome'],
    help: 'Weights given to inference engines: updated, or failed.',
  },
  engine_update_seconds: { kind: 'histogram', labels: ['engine'], help: 'Time from pausing an engine until it generates again.' },
  engine_policy_version: {
    kind: 'gauge',
    labels: ['engine'],
    help: 'Policy version that an engine serves according to its label; -1 = it does not answer, or its label is not one of this run.',
  },
  policy_refused_total: {
    kind: 'counter',
    labels: ['code'],
    help: 'Policy versions that a role did not use, because their weights cannot be read or are not those that were published.',
  },
  trainer_records_total: { kind: 'counter', labels: ['topic'], help: 'Records folded.' },
  trainer_steps_total: { kind: 'counter', labels: [], help: 'Steps committed.' },
  trainer_batches_total: {
    kind: 'counter',
    labels: [],
    help: 'Batches of collected runs, whose policy the trainer does not train.',
  },
  trainer_discarded_share: { kind: 'gauge', labels: [], help: 'Share of the most recently closed groups that were discarded, 0 to 1.' },
  trainer_discards_total: { kind: 'counter', labels: ['reason'], help: 'Trajectories discarded.' },
  trainer_expired_total: { kind: 'counter', labels: ['reason'], help: 'Attempts given up.' },
  trainer_skipped_records_total: {
    kind: 'counter',
    labels: ['topic'],
    help: 'Records that a restart needed but the log no longer had.',
  },
  trainer_log_cuts_total: {
    kind: 'counter',
    help: 'Partitions that had lost their newest records at a restart and were read again from the beginning.',
    labels: ['topic'],
  },
  trainer_restored_requests_total: {
    kind: 'counter',
    labels: [],
    help: 'Requests in the ledger that were no longer in tasks at a restart.',
  },
  trainer_transaction_seconds: { kind: 'histogram', labels: [], help: 'Duration of the transactional commit.' },
  trainer_update_seconds: { kind: 'histogram', labels: [], help: 'Duration of a policy update.' },
  trainer_open_groups: { kind: 'gauge', labels: ['state'], help: 'Groups that are running or ready.' },
  trainer_reward_mean: { kind: 'gauge', labels: [], help: 'Mean reward of the last batch.' },
  trainer_staleness: {
    kind: 'gauge',
    labels: ['statistic'],
    help: 'Staleness of the last batch in versions, with the names of the columns of `steps`: mean, p95, and max over its trajectories, where mean = in_flight_mean + in_queue_mean; token_mean, token_p95, and token_max over its tokens.',
  },
  sink_rows_total: { kind: 'counter', labels: ['table'], help: 'Rows inserted.' },
  sink_inserts_total: { kind: 'counter', labels: ['table'], help: 'Inserts.' },
  sink_insert_seconds: { kind: 'histogram', labels: ['table'], help: 'Duration of inserts.' },
  sink_buffered_records: { kind: 'gauge', labels: [], help: 'Records that are buffered and not stored yet.' },
  sink_buffered_bytes: { kind: 'gauge', labels: [], help: 'Bytes of buffered records; fetching pauses at the limit.' },
  sink_dead_letters_total: { kind: 'counter', labels: ['reason'], help: 'Records sent to dead-letters.' },
  sink_skipped_records_total: {
    kind: 'counter',
    labels: ['topic'],
    help: 'Offsets that `turnstream warehouse mend` skipped because the log had lost them before they were stored.',
  },
  sink_parked_partitions: {
    kind: 'gauge',
    labels: ['topic'],
    help: 'Partitions that are not stored because their position is outside the log.',
  },
  sink_lag_records: { kind: 'gauge', labels: ['topic'], help: 'Records between the committed offset and the end of the log.' },
  api_requests_total: { kind: 'counter', labels: ['route', 'status'], help: 'Requests answered.' },
  api_request_seconds: { kind: 'histogram', labels: ['route'], help: 'Duration of requests.' },
  api_live_clients: { kind: 'gauge', labels: [], help: 'Open live streams.' },
  webhook_messages_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Messages about advisories: delivered, or failed after all retries.',
  },
  disk_free_bytes: { kind: 'gauge', labels: [], help: 'Free space on the disk of the data directory.' },
  disk_used_bytes: {
    kind: 'gauge',
    labels: ['part'],
    help: 'Size of the data directory, by part: log.<topic>, tables, kafka (the program), other.',
  },
  kafka_skipped_records_total: {
    kind: 'counter',
    labels: ['topic'],
    help: 'Offsets that a reader skipped because retention had deleted them.',
  },
  kafka_missing_texts_total: {
    kind: 'counter',
    labels: ['topic'],
    help: 'Turns that were read without their result because it is not in the topic `texts`.',
  },
  kafka_producer_recreated_total: { kind: 'counter', labels: [], help: 'Producers that were replaced after they stopped working.' },
} as const satisfies Record<
  string,
  { readonly kind: 'counter' | 'gauge' | 'histogram'; readonly labels: readonly string[]; readonly help: string }
>;

export type MetricName = keyof typeof metricTable;
type NamesOf<K> = { [N in MetricName]: (typeof metricTable)[N]['kind'] extends K ? N : never }[MetricName];
export type LabelsOf<N extends MetricName> = Readonly<Record<(typeof metricTable)[N]['labels'][number], string>>;

export interface Metrics {
  count<N extends NamesOf<'counter'>>(name: N, labels: LabelsOf<N>, by?: number): void;
  set<N extends NamesOf<'gauge'>>(name: N, labels: LabelsOf<N>, value: number): void;
  /** `value` is in the unit that the metric's name states. */
  observe<N extends NamesOf<'histogram'>>(name: N, labels: LabelsOf<N>, value: number): void;
}

/** For processes without metrics, such as CLI commands. */
export const noMetrics: Metrics = { count: () => undefined, set: () => undefined, observe: () => undefined };

/** Health of a role, as reported to its supervisor and at /healthz. */
export type RoleState =
  | 'starting'
  | 'catching_up'
  | 'live'
  /** It runs, but records that it should have read are missing. */
  | 'incomplete'
  | 'waiting'
  | 'stopping'
  | 'failed';

export interface RoleStatus {
  readonly state: RoleState;
  /** What the role waits for, or why it failed; empty when live. */
  readonly detail: string;
  /** Figures for the progress display, e.g. { step: 12, reward_mean: 0.4 }. */
  readonly figures: Readonly<Record<string, number>>;
}

/** Reports the status of a role; the latest report wins. */
export type ReportStatus = (status: RoleStatus) => void;
