// Answers of the pages that watch a run, as far as the pages read them.
type Maybe = number | null;

export interface Flow {
  readonly trajectories: number;
  readonly is_whole: boolean;
  readonly max_staleness: Maybe;
  readonly fates: readonly string[];
  readonly reasons: readonly string[];
  readonly workers: readonly string[];
  readonly ids: readonly string[];
  readonly columns: Readonly<Record<string, readonly number[]>>;
  readonly versions: Marks;
  readonly steps: Marks;
}

interface Marks {
  readonly numbers: readonly number[];
  readonly at_ms: readonly number[];
}

export interface Advisory {
  readonly rule: string;
  readonly severity: string;
  readonly title: string;
  readonly detail: string;
  readonly page: string;
  readonly sql: string;
}

export interface Admission {
  readonly sequence: number;
  readonly version: number;
  readonly capacity: number;
  readonly running: number;
  readonly accepted: number;
  readonly max_concurrent: number;
  readonly groups: number;
  readonly at: string | null;
}

export interface Sync {
  readonly version: number;
  readonly worker_id: string;
  readonly published_at: string | null;
  readonly first_turn_at: string;
  readonly last_turn_at: string;
  readonly turns: number;
  readonly lag_ms: Maybe;
}

export interface ToolSpan {
  readonly tool: string;
  readonly at: string;
  readonly calls: number;
  readonly failed: number;
  readonly ms_p50: Maybe;
  readonly ms_p95: Maybe;
}

export interface Outage {
  readonly tool: string;
  readonly from: string;
  readonly to: string;
  readonly calls: number;
  readonly failed: number;
  readonly usual_failure_rate: Maybe;
  readonly from_step: number;
  readonly to_step: number;
}

export interface Weather {
  readonly every_s: number;
  readonly items: readonly ToolSpan[];
  readonly outages: readonly Outage[];
}

export interface Worker {
  readonly worker_id: string;
  readonly started: number;
  readonly finished: number;
  readonly lost: number;
  readonly failed: number;
  readonly running: number;
  readonly late: number;
  readonly reward_mean: Maybe;
  readonly tool_failure_rate: Maybe;
  readonly ms_per_turn: Maybe;
  readonly slowness: Maybe;
  readonly longest_silence_s: Maybe;
  readonly last_heartbeat_at: string | null;
}
