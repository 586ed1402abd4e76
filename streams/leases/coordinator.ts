// The port between an external trainer and the coordinator of its run: its requests and their responses. Times are ISO 8601.
export interface ClaimRequest {
  readonly trainer_id: string;
  readonly framework?: string;
  readonly lineage?: string;
  readonly prepared?: { readonly batch_id: string; readonly weights_sha256: string };
  /** Asks to continue the run from an older version, for a trainer that cannot restore the newest. */
  readonly rewind?: { readonly to_version: number; readonly reason?: string };
}

/** A committed version and its weights. `uri` is empty if they are in the log; all strings are empty if they are unpublished. */
export interface NamedWeights {
  readonly version: number;
  readonly uri: string;
  readonly sha256: string;
  readonly format: string;
  readonly weights: 'elsewhere' | 'in_log' | 'unpublished';
}

export interface ClaimAnswer {
  readonly epoch: number;
  readonly version: number;
  readonly lineage: string;
  readonly lease_ms: number;
  /** Absent if the trainer has the newest version, and for an unpublished version 0, which the trainer provides itself. */
  readonly restore?: NamedWeights;
}

export interface LeaseRequest {
  readonly epoch: number;
  readonly lineage: string;
  readonly held?: readonly string[];
  readonly wait_ms?: number;
}

export interface LeaseAnswer {
  readonly batch_id: string;
  readonly step: number;
  readonly version_before: number;
  readonly batch_sha256: string;
  readonly rows: number;
  /** Rows that may be trained on. */
  readonly trainable_rows: number;
  readonly tokens: number;
  readonly bytes: number;
  readonly deadline: string;
  readonly groups: readonly { readonly group_id: string; readonly trajectories: number }[];
  readonly data: { readonly href: string; readonly formats: readonly string[]; readonly shards: number };
}

export interface WeightsOfCommit {
  readonly uri: string;
  readonly sha256: string;
  readonly format: string;
  readonly bytes?: number;
  readonly loadable?: boolean;
  readonly manifest?: readonly { readonly name: string; readonly sha256: string }[];
}

export interface CommitRequest {
  readonly epoch: number;
  readonly batch_sha256: string;
  readonly policy: WeightsOfCommit | null;
  readonly metrics: Readonly<Record<string, number>>;
  readonly skipped?: readonly { readonly row: number; readonly reason: string }[];
  readonly train_ms?: number;
}

export interface CommitAnswer {
  readonly step: number;
  readonly version: number;
  readonly lineage: string;
  readonly replayed: boolean;
}

/** Raw headers of a request for rows, and the parameter `shard`: `<i>/<n>`. */
export interface RowsRequest {
  readonly accept?: string;
  readonly ifNoneMatch?: string;
  readonly range?: string;
  readonly ifRange?: string;
  readonly shard?: string;
}

export interface RowsAnswer {
  readonly status: 200 | 206 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for 304. */
  readonly body: AsyncIterable<Buffer> | undefined;
}

export interface PublishRequest extends WeightsOfCommit {
  readonly version: number;
  readonly epoch?: number;
}

export interface PublishAnswer {
  readonly version: number;
  readonly sha256: string;
  /** The same weights had already been published at the same URI. */
  readonly replayed: boolean;
}

/** Batches whose leases ended. */
export interface ReleaseAnswer {
  readonly released: readonly string[];
}

/** A refused call rejects with a PlatformError whose HTTP status is 4xx. */
export interface Coordinator {
  claim(run: string, request: ClaimRequest): Promise<ClaimAnswer>;
  /** Undefined if no batch becomes available within `wait_ms`. */
  lease(run: string, request: LeaseRequest, signal: AbortSignal): Promise<LeaseAnswer | undefined>;
  /** Publishes the weights of a committed version after its commit, or at a new location. */
  publish(run: string, request: PublishRequest): Promise<PublishAnswer>;
  rows(batchId: string, request: RowsRequest): Promise<RowsAnswer>;
  extend(batchId: string, request: { readonly epoch: number }): Promise<{ readonly deadline: string }>;
  commit(batchId: string, request: CommitRequest): Promise<CommitAnswer>;
  release(batchId: string, request: { readonly epoch: number }): Promise<ReleaseAnswer>;
}
