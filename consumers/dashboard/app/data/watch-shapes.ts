// Types of the responses that the monitoring pages use, limited to the fields that they read.

import type { NumberOrNull } from './shapes.ts';

export interface ApiFlow {
  readonly trajectories: number;
  readonly is_whole: boolean;
  readonly max_staleness: NumberOrNull;
  readonly fates: readonly string[];
  readonly reasons: readonly string[];
  readonly workers: readonly string[];
  readonly ids: readonly string[];
  readonly columns: Readonly<Record<string, readonly number[]>>;
  readonly versions: ApiMarks;
  readonly steps: ApiMarks;
}

export interface ApiMergedFlow {
  readonly trajectories: number;
  readonly every_s: number;
  readonly at_ms: readonly number[];
  readonly columns: Readonly<Record<string, readonly number[]>>;
}

interface ApiMarks {
  readonly numbers: readonly number[];
  readonly at_ms: readonly number[];
}

export interface ApiAdvisory {
  readonly rule: string;
  readonly severity: string;
  readonly title: string;
  readonly detail: string;
  readonly page: string;
  readonly sql: string;
}

/** The last admission of a span, with the minimum capacity and the maximum running of all admissions in it. */
export interface ApiAdmissionSpan {
  readonly admissions: number;
  readonly capacity_min: number;
  readonly running_max: number;
  readonly sequence: number;
  readonly version: number;
  readonly capacity: number;
  readonly running: number;
  readonly accepted: number;
  readonly max_concurrent: number;
  readonly groups: number;
  readonly at: string | null;
}

export interface ApiSync {
  readonly version: number;
  readonly worker_id: string;
  readonly published_at: string | null;
  readonly first_turn_at: string;
  readonly last_turn_at: string;
  readonly turns: number;
  readonly lag_ms: NumberOrNull;
}

export interface ApiToolSpan {
  readonly tool: string;
  readonly at: string;
  readonly calls: number;
  readonly failed: number;
  readonly ms_p50: NumberOrNull;
  readonly ms_p95: NumberOrNull;
}

export interface ApiOutage {
  readonly tool: string;
  readonly from: string;
  readonly to: string;
  readonly calls: number;
  readonly failed: number;
  readonly usual_failure_rate: NumberOrNull;
  readonly from_step: number;
  readonly to_step: number;
}

export interface ApiWeather {
  readonly every_s: number;
  readonly items: readonly ApiToolSpan[];
  readonly outages: readonly ApiOutage[];
}

export interface ApiWorker {
  readonly worker_id: string;
  readonly started: number;
  readonly finished: number;
  readonly lost: number;
  readonly failed: number;
  readonly running: number;
  readonly late: number;
  readonly reward_mean: NumberOrNull;
  readonly tool_failure_rate: NumberOrNull;
  readonly ms_per_turn: NumberOrNull;
  readonly slowness: NumberOrNull;
  readonly longest_silence_s: NumberOrNull;
  readonly last_heartbeat_at: string | null;
}

/** Advisories, and the current state of a run. */
export interface ApiWatchedRun {
  readonly items: readonly ApiAdvisory[];
  readonly outages: readonly ApiOutage[];
  readonly behind: NumberOrNull;
  readonly state: {
    readonly continued: number;
    readonly capacity: number;
    readonly running: number;
    readonly max_concurrent: number;
    readonly admitted_at: string | null;
    readonly worst_step: number;
    readonly worst_trajectory_id: string;
    readonly worst_attempt: number;
    readonly worst_reward: NumberOrNull;
    /** `training`, `waiting`, or `silent`; empty if the run has finished or this is unknown. */
    readonly trainer: string;
    readonly ledger_entry: string;
    readonly ledger_at: string | null;
  };
}
