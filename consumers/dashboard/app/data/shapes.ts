// The fields of API responses that the pages read. /openapi.json has all of them.

export interface ApiPage<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

export type NumberOrNull = number | null;

export interface ApiRun {
  readonly run_id: string;
  readonly status: string;
  readonly reason: string;
  readonly dataset: string;
  readonly algorithm: string;
  readonly backend: string;
  readonly learner: string;
  readonly seed: number;
  readonly group_size: number;
  readonly batch_groups: number;
  readonly max_staleness: number;
  readonly max_concurrent: number;
  readonly max_attempts: number;
  readonly stale_policy: string;
  readonly planned_steps: number;
  readonly steps: number;
  readonly version: number;
  readonly reward_mean: NumberOrNull;
  readonly reward_mean_first_20: NumberOrNull;
  readonly reward_mean_last_20: NumberOrNull;
  readonly trained: number;
  readonly discarded: number;
  readonly tokens: number;
  readonly staleness_max: NumberOrNull;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly last_at: string | null;
  readonly is_trained: boolean;
  /** Mean reward in equal parts of the steps, if requested. */
  readonly reward_spark?: readonly NumberOrNull[];
}

export interface ApiCurves {
  readonly run_id?: string;
  readonly every: number;
  readonly steps: readonly number[];
  readonly first_steps: readonly number[];
  readonly series: Readonly<Record<string, readonly (number | string | null)[]>>;
  /** Absent if a bucket is a single step. */
  readonly low?: Readonly<Record<string, readonly NumberOrNull[]>>;
  readonly high?: Readonly<Record<string, readonly NumberOrNull[]>>;
  /** Those of the other runs that were requested. */
  readonly others?: readonly ApiCurves[];
}

export interface ApiTool {
  readonly tool: string;
  readonly calls: number;
  readonly failure_rate: NumberOrNull;
  readonly ms_p50: NumberOrNull;
  readonly ms_p95: NumberOrNull;
}

export interface ApiStep {
  readonly step: number;
  readonly version_before: number;
  readonly version_after: number;
  readonly groups: number;
  readonly trajectories: number;
  readonly tokens: number;
  readonly reward_mean: NumberOrNull;
  readonly f1_mean: NumberOrNull;
  readonly turns_mean: NumberOrNull;
  readonly staleness_mean: NumberOrNull;
  readonly staleness_max: NumberOrNull;
  readonly loss: NumberOrNull;
  readonly entropy: NumberOrNull;
  readonly approx_kl: NumberOrNull;
  readonly clip_fraction: NumberOrNull;
  readonly wait_ms: NumberOrNull;
  readonly train_ms: NumberOrNull;
  readonly batch_sha256: string;
  readonly weights_sha256: string;
  readonly optimizer_sha256: string;
  readonly previous_sha256: string;
  readonly at: string | null;
}

export interface ApiTrajectoryAccount {
  readonly group_id: string;
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly reward: NumberOrNull;
  readonly advantage?: NumberOrNull;
  readonly reason?: string;
  readonly tokens: number;
  readonly turns: number;
  readonly version_first: number;
  readonly version_last: number;
  readonly staleness_total: number;
  readonly staleness_in_flight: number;
  readonly staleness_in_queue: number;
  readonly queue_ms: number;
  readonly flight_ms: number;
}

export interface ApiStepReport {
  readonly step: ApiStep;
  readonly trajectories: readonly ApiTrajectoryAccount[];
  readonly discarded: readonly ApiTrajectoryAccount[];
  readonly truncated: boolean;
}

export interface ApiTrajectory {
  readonly trajectory_id: string;
  readonly group_id: string;
  readonly attempt: number;
  readonly purpose: string;
  readonly worker_id: string;
  readonly question_id: string;
  readonly question: string;
  readonly answer: string;
  readonly status: string;
  readonly error: string;
  readonly reward: NumberOrNull;
  readonly f1: NumberOrNull;
  readonly turns: number;
  readonly tool_calls: number;
  readonly tool_errors: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly version_first: number;
  readonly version_last: number;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly fate?: string;
  readonly fate_step?: number;
  readonly fate_reason?: string;
  readonly fate_reward?: NumberOrNull;
  readonly advantage?: NumberOrNull;
}

interface ApiAttempt {
  readonly attempt: number;
  readonly status: string;
  readonly requested_at: string | null;
  readonly started_at: string | null;
  readonly worker_id: string;
  readonly expired_reason: string;
  readonly expired_at: string | null;
  readonly result: ApiTrajectory | null;
}

export interface ApiTrajectoryReport {
  readonly trajectory_id: string;
  readonly run_id: string;
  readonly group_id: string;
  readonly purpose: string;
  readonly question: string;
  readonly attempts: readonly ApiAttempt[];
  readonly training: readonly {
    readonly step: number;
    readonly attempt: number;
    readonly advantage: NumberOrNull;
    readonly staleness_total: number;
    readonly queue_ms: number;
    readonly at: string | null;
  }[];
  readonly collected: readonly {
    readonly batch: number;
    readonly attempt: number;
    readonly advantage: NumberOrNull;
    readonly staleness_total: number;
    readonly queue_ms: number;
    readonly at: string | null;
  }[];
  readonly discarded: readonly {
    readonly attempt: number;
    readonly reason: string;
    readonly version: number;
    readonly staleness_total: number;
    readonly at: string | null;
  }[];
  /** Rewinds that abandoned the step of `training`. */
  readonly rewound: readonly {
    readonly attempt: number;
    readonly version: number;
    readonly to_version: number;
    readonly at: string | null;
  }[];
}

export interface ApiOutline {
  readonly attempt: number;
  readonly turns: number;
  readonly is_whole: boolean;
  readonly tools: readonly string[];
  readonly statuses: readonly string[];
  readonly error_types: readonly string[];
  readonly workers: readonly string[];
  readonly columns: Readonly<Record<string, readonly NumberOrNull[]>>;
}

export interface ApiTurn {
  readonly turn: number;
  readonly worker_id: string;
  readonly policy_version_min: number;
  readonly policy_version_max: number;
  readonly policy_span_versions: readonly number[];
  readonly policy_span_tokens: readonly number[];
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly generation_ms: NumberOrNull;
  readonly finish_reason: string;
  readonly text: string;
  readonly tool: string;
  readonly tool_status: string;
  readonly tool_error_type: string;
  readonly tool_ms: NumberOrNull;
  readonly tool_arguments: string;
  readonly tool_result: string;
  readonly tool_result_chars: number;
  readonly truncated: boolean;
  readonly cache_hit: boolean;
  readonly reward: NumberOrNull;
  readonly decision_candidates: number;
  readonly decision_chosen: number;
  readonly decision_logprob: NumberOrNull;
  readonly decision_entropy: NumberOrNull;
  readonly logprobs?: readonly NumberOrNull[];
  readonly token_ids?: readonly number[];
  readonly token_ends?: readonly number[];
  readonly loss_mask?: readonly number[];
  readonly more_tools?: readonly string[];
  readonly more_tool_arguments?: readonly string[];
  readonly more_tool_statuses?: readonly string[];
  readonly more_tool_error_types?: readonly string[];
  readonly more_tool_ms?: readonly NumberOrNull[];
  readonly more_tool_results?: readonly string[];
  readonly more_tool_result_chars?: readonly number[];
  readonly occurred_at: string | null;
  readonly _topic: string;
  readonly _partition: number;
  readonly _offset: number;
}

export interface ApiTurnMatches {
  readonly items: readonly {
    readonly turn: number;
    readonly field: string;
    readonly offset: number;
    readonly head: string;
    readonly match: string;
  }[];
  readonly is_whole: boolean;
}
