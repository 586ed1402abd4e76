// Every metric, declared once: `<area>_<noun>_<unit>_total` for counters. Roles take the Metrics port; the adapter
// in infra/telemetry turns it into Prometheus text.

export const metricTable = {
  worker_turns_total: { kind: 'counter', labels: ['tool', 'status'], help: 'Turns recorded.' },
  worker_trajectories_total: { kind: 'counter', labels: ['status'], help: 'Attempts finished.' },
  worker_running: { kind: 'gauge', labels: [], help: 'Trajectories running now.' },
  worker_events_waiting: {
    kind: 'gauge',
    labels: [],
    help: 'Events that the log has not acknowledged yet; bounded, and agents pause at the bound.',
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
  llm_queue_seconds: { kind: 'histogram', labels: [], help: 'Wait of a generation for a place among the requests of its worker.' },
  llm_retries_total: { kind: 'counter', labels: [], help: 'Tries of generations that failed and were made again.' },
  llm_retry_seconds: { kind: 'histogram', labels: [], help: 'Time that a generation lost to failed tries and the waits behind them.' },
  llm_first_token_seconds: { kind: 'histogram', labels: [], help: 'Time from sending a request to the first token of its answer.' },
  worker_tool_queue_seconds: {
    kind: 'histogram',
    labels: ['tool'],
    help: 'Wait of a tool call for a place among the calls of its worker.',
  },
  worker_tool_retries_total: { kind: 'counter', labels: ['tool'], help: 'Tries of tool calls that failed and were made again.' },
  worker_tool_server_seconds: { kind: 'histogram', labels: ['tool'], help: 'Time that the service behind a tool took for the last try.' },
  llm_tokens_total: { kind: 'counter', labels: ['kind'], help: 'Tokens of prompts and completions.' },
  llm_running: { kind: 'gauge', labels: ['state'], help: 'Generations that are running, and that wait for their turn.' },
  trainer_records_total: { kind: 'counter', labels: ['topic'], help: 'Records folded.' },
  trainer_steps_total: { kind: 'counter', labels: [], help: 'Steps committed.' },
  trainer_batches_total: {
    kind: 'counter',
    labels: [],
    help: 'Batches collected without a step, of runs whose policy the trainer does not make.',
  },
  trainer_discarded_share: { kind: 'gauge', labels: [], help: 'Share of the groups that closed last which were discarded, 0 to 1.' },
  trainer_discards_total: { kind: 'counter', labels: ['reason'], help: 'Trajectories discarded.' },
  trainer_expired_total: { kind: 'counter', labels: ['reason'], help: 'Attempts given up.' },
  trainer_skipped_records_total: {
    kind: 'counter',
    labels: ['topic'],
    help: 'Records that a restart would have read and the log no longer held.',
  },
  trainer_log_cuts_total: {
    kind: 'counter',
    help: 'Partitions whose newest records were gone at a restart, and which were read again from their first record.',
    labels: ['topic'],
  },
  trainer_restored_requests_total: {
    kind: 'counter',
    labels: [],
    help: 'Requests of the ledger that were no longer in tasks at a restart.',
  },
  trainer_transaction_seconds: { kind: 'histogram', labels: [], help: 'Duration of the transactional commit.' },
  trainer_update_seconds: { kind: 'histogram', labels: [], help: 'Duration of an update of the policy.' },
  trainer_open_groups: { kind: 'gauge', labels: ['state'], help: 'Groups running and ready.' },
  trainer_reward_mean: { kind: 'gauge', labels: [], help: 'Mean reward of the last batch.' },
  trainer_staleness: {
    kind: 'gauge',
    labels: ['statistic'],
    help: 'Staleness of the last batch in versions, named as the columns of `steps`: mean, p95 and max over its trajectories, mean being in_flight_mean + in_queue_mean; token_mean, token_p95 and token_max over its tokens.',
  },
  sink_rows_total: { kind: 'counter', labels: ['table'], help: 'Rows inserted.' },
  sink_inserts_total: { kind: 'counter', labels: ['table'], help: 'Inserts made.' },
  sink_insert_seconds: { kind: 'histogram', labels: ['table'], help: 'Duration of inserts.' },
  sink_buffered_records: { kind: 'gauge', labels: [], help: 'Records gathered and not stored yet.' },
  sink_buffered_bytes: { kind: 'gauge', labels: [], help: 'Bytes of these records; fetching pauses at the bound.' },
  sink_dead_letters_total: { kind: 'counter', labels: ['reason'], help: 'Records sent to dead-letters.' },
  sink_skipped_records_total: {
    kind: 'counter',
    labels: ['topic'],
    help: 'Offsets that were skipped by `turnstream warehouse mend`, because the log had lost them before they were stored.',
  },
  sink_parked_partitions: {
    kind: 'gauge',
    labels: ['topic'],
    help: 'Partitions whose position is out of the bounds of the log: nothing of them is stored.',
  },
  sink_lag_records: { kind: 'gauge', labels: ['topic'], help: 'Records between the committed offset and the end of the log.' },
  api_requests_total: { kind: 'counter', labels: ['route', 'status'], help: 'Requests answered.' },
  api_request_seconds: { kind: 'histogram', labels: ['route'], help: 'Duration of requests.' },
  api_live_clients: { kind: 'gauge', labels: [], help: 'Open live streams.' },
  disk_free_bytes: { kind: 'gauge', labels: [], help: 'What may still be written to the disk of the data directory.' },
  disk_used_bytes: {
    kind: 'gauge',
    labels: ['part'],
    help: 'What the data directory takes, by part: log.<topic>, tables, kafka (the program), other.',
  },
  kafka_skipped_records_total: {
    kind: 'counter',
    labels: ['topic'],
    help: 'Offsets that a reader had to pass over because retention had deleted them.',
  },
  kafka_missing_texts_total: {
    kind: 'counter',
    labels: ['topic'],
    help: 'Turns that were read without their result because the topic of texts does not have it.',
  },
  kafka_producer_recreated_total: { kind: 'counter', labels: [], help: 'Producers replaced after they wedged.' },
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
  /** `value` in the unit of the name. */
  observe<N extends NamesOf<'histogram'>>(name: N, labels: LabelsOf<N>, value: number): void;
}

/** Of whoever serves no metrics, such as a command. */
export const noMetrics: Metrics = { count: () => undefined, set: () => undefined, observe: () => undefined };

/** Health of a role, as told to its supervisor and at /healthz. */
export type RoleState =
  | 'starting'
  | 'catching_up'
  | 'live'
  /** It works, but records are missing that it was to read. */
  | 'incomplete'
  | 'waiting'
  | 'stopping'
  | 'failed';

export interface RoleStatus {
  readonly state: RoleState;
  /** What it waits for or why it failed; empty when live. */
  readonly detail: string;
  /** Figures for the progress display, e.g. { step: 12, reward_mean: 0.4 }. */
  readonly figures: Readonly<Record<string, number>>;
}

/** Where a role reports its status; the newest report counts. */
export type ReportStatus = (status: RoleStatus) => void;
