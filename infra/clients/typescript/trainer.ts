// The trainer of a run: claims it, leases batches, and commits new versions.
import { ApiError, passes, TurnstreamError } from './errors.ts';
import { linesOf } from './live.ts';
import { pathOf, type Transport } from './transport.ts';
import type { Weights } from './weights.ts';

/** One branch of one trajectory, token by token. */
export interface TrainingRow {
  readonly row: number;
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly group_id: string;
  readonly branch: number;
  readonly token_ids: readonly number[];
  /** 1: sampled by the policy. */
  readonly mask: readonly number[];
  readonly logprobs: readonly number[];
  readonly version_spans: readonly { readonly version: number; readonly tokens: number }[];
  /** Numbers of its turns, and the index at which the completion of each begins. */
  readonly turns: readonly number[];
  readonly turn_starts: readonly number[];
  readonly prompt_len: number;
  readonly reward: number;
  readonly advantage: number;
  readonly temperature: number | null;
  readonly logprobs_kind: string;
  readonly trainable: boolean;
  readonly why_not: string;
}

export interface Lease {
  readonly batch_id: string;
  readonly step: number;
  readonly version_before: number;
  readonly batch_sha256: string;
  readonly rows: number;
  readonly tokens: number;
  readonly bytes: number;
  readonly deadline: string;
  readonly groups: readonly { readonly group_id: string; readonly trajectories: number }[];
  readonly data: { readonly href: string; readonly formats: readonly string[]; readonly shards: number };
}

/** The report that is committed with a batch. */
export interface Report {
  readonly policy: Weights | null;
  /** Values that are not finite are left out. */
  readonly metrics?: Readonly<Record<string, number>>;
  readonly skipped?: readonly { readonly row: number; readonly reason: string }[];
}

/** A commit to keep in a checkpoint before it is sent. */
export interface Prepared {
  readonly batch_id: string;
  readonly weights_sha256: string;
  readonly commit: Readonly<Record<string, unknown>>;
}

export interface Committed {
  readonly step: number;
  readonly version: number;
  /** Keep it in the checkpoint. */
  readonly lineage: string;
  /** It was committed before, with an identical request body. */
  readonly replayed: boolean;
}

export interface TrainerOptions {
  readonly framework?: string;
  /** Of the checkpoint, if there is one. */
  readonly lineage?: string;
  readonly prepared?: Prepared;
  /** A lease to keep, because another process is still training on the batch: see `held` of the trainer. */
  readonly held?: Lease;
  /**
   * For a trainer that cannot restore the newest version: continues the run from an older one, which is that of the checkpoint, or without
   * a checkpoint any version that the newest is based on. Later steps are abandoned.
   */
  readonly rewind?: { readonly to_version: number; readonly reason?: string };
}

/** A version to load. `weights`: `elsewhere` = at the uri; `in_log` = in the PolicyPublished event; `unpublished` = nowhere yet. */
export interface Restore {
  readonly version: number;
  readonly uri: string;
  readonly sha256: string;
  readonly format: string;
  readonly weights: 'elsewhere' | 'in_log' | 'unpublished';
}

interface TrainerClaim {
  readonly epoch: number;
  readonly version: number;
  readonly lineage: string;
  readonly lease_ms: number;
  readonly restore?: Restore;
}

const WAIT_MS = 20_000;
const SOON_MS = 500;
/** Time to retry a call while the API or the coordinator is unavailable. A restarted coordinator knows whether a commit was made. */
const PATIENCE_MS = 120_000;
/** Number of extensions within the duration of a lease, so that two may fail. */
const EXTENSIONS = 3;

/** Undefined while the API or the coordinator is unavailable, as for a batch that is not available yet. */
function finishedOrNone(error: unknown): 'finished' | undefined {
  if (error instanceof ApiError && error.code === 'RUN_FINISHED') return 'finished';
  if (passes(error)) return undefined;
  throw error;
}

/** Makes an idempotent call, and repeats it while the API or the coordinator is unavailable. */
async function patiently<T>(transport: Transport, call: () => Promise<T>): Promise<T> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!passes(error) || performance.now() > until) throw error;
    }
    await transport.sleep(SOON_MS);
  }
}

/** The trainer of a run after its claim. The next claim fences it: its calls then fail with FENCED. */
export class Trainer {
  readonly #transport: Transport;
  readonly #run: string;
  readonly #claim: TrainerClaim;
  #open: readonly Batch[] = [];
  version: number;
  /** Keep it in every checkpoint. */
  lineage: string;
  /** The batch of the lease that was passed to the claim. */
  held: Batch | undefined;

  private constructor(transport: Transport, run: string, claim: TrainerClaim) {
    this.#transport = transport;
    this.#run = run;
    this.#claim = claim;
    this.version = claim.version;
    this.lineage = claim.lineage;
  }

  /** Claims the run, and sends the prepared commit of the checkpoint. */
  static async claim(transport: Transport, at: { readonly run: string; readonly id: string }, options: TrainerOptions): Promise<Trainer> {
    const { prepared, held, ...rest } = options;
    const kept = prepared ?? (held === undefined ? undefined : { batch_id: held.batch_id, weights_sha256: '' });
    const named = kept === undefined ? {} : { prepared: { batch_id: kept.batch_id, weights_sha256: kept.weights_sha256 } };
    const body = { trainer_id: at.id, ...rest, ...named };
    // each claim fences the previous one, so it is not retried automatically
    const claim = await transport.json<TrainerClaim>(pathOf('runs', at.run, 'trainer'), { method: 'POST', body, idempotent: false });
    const trainer = new Trainer(transport, at.run, claim);
    if (prepared !== undefined) await trainer.commit(prepared);
    else if (held !== undefined) trainer.#hold(held);
    return trainer;
  }

  get epoch(): number {
    return this.#claim.epoch;
  }

  /** The version to load first; undefined if the trainer already has the weights. */
  get restore(): Restore | undefined {
    return this.#claim.restore;
  }

  /** The next batch; undefined if there is none within `waitMs`. */
  async lease(waitMs = WAIT_MS): Promise<Batch | undefined> {
    this.#open = this.#open.filter(({ open }) => open);
    // a batch whose response was lost is not among the held ones, so the coordinator returns it again
    const body = { epoch: this.epoch, lineage: this.lineage, held: this.#open.map(({ lease }) => lease.batch_id), wait_ms: waitMs };
    const response = await this.#transport.send(pathOf('runs', this.#run, 'batches:lease'), { method: 'POST', body });
    if (response.status === 204) return undefined;
    return this.#opened((await response.json()) as Lease);
  }

  #opened(lease: Lease): Batch {
    const batch = new Batch(this, this.#transport, lease);
    batch.keep(this.#claim.lease_ms / EXTENSIONS);
    this.#open = [...this.#open, batch];
    return batch;
  }

  #hold(lease: Lease): void {
    this.held = this.#opened(lease);
    this.held.hold();
  }

  /** Yields batches until version `steps` or the end of the run. A batch that is not committed, prepared, or held is released. */
  async *batches({ steps = Infinity, waitMs = WAIT_MS } = {}): AsyncGenerator<Batch> {
    while (this.version < steps) {
      const batch = await this.lease(waitMs).catch(finishedOrNone);
      if (batch === 'finished') return;
      if (batch === undefined) {
        await this.#transport.sleep(SOON_MS);
        continue;
      }
      try {
        yield batch;
      } finally {
        await batch.leave();
      }
    }
  }

  /** Publishes the location of a committed version's weights, after the commit or again. */
  async publish(version: number, weights: Weights): Promise<void> {
    const body = { version, epoch: this.epoch, ...weights };
    await this.#transport.json(pathOf('runs', this.#run, 'policies'), { method: 'POST', body });
  }

  /** Sends a prepared commit. A repeat has the same result. */
  async commit({ batch_id, commit }: Prepared): Promise<Committed> {
    const body = { epoch: this.epoch, ...commit };
    const path = pathOf('batches', `${batch_id}:commit`);
    const committed = await patiently(this.#transport, () => this.#transport.json<Committed>(path, { method: 'POST', body }));
    this.version = committed.version;
    this.lineage = committed.lineage;
    return committed;
  }

  /** Releases leased batches, except prepared and held ones. */
  async close(): Promise<void> {
    for (const batch of this.#open) await batch.leave();
  }
}

/** Leased trajectories. The lease is extended until the batch is committed or released. */
export class Batch {
  readonly #trainer: Trainer;
  readonly #transport: Transport;
  readonly #beganMs = performance.now();
  #timer: ReturnType<typeof setInterval> | undefined;
  #held = false;
  readonly lease: Lease;
  open = true;
  /** Why the batch can no longer be committed; undefined as long as it can. */
  lost: TurnstreamError | undefined;

  constructor(trainer: Trainer, transport: Transport, lease: Lease) {
    this.#trainer = trainer;
    this.#transport = transport;
    this.lease = lease;
  }

  /** `<step>.<try>`. Unlike the step, it is unique among the leases of the run: use it in the names of files. */
  get name(): string {
    return this.lease.batch_id.slice(this.lease.batch_id.lastIndexOf('/') + 1);
  }

  /** The rows, as they arrive. */
  async *rows(): AsyncGenerator<TrainingRow> {
    const headers = { accept: 'application/x-ndjson' };
    const response = await patiently(this.#transport, () => this.#transport.send(this.lease.data.href, { headers }));
    for await (const line of linesOf(response)) yield JSON.parse(line) as TrainingRow;
  }

  /** The commit of this batch: keep it in a checkpoint with the new weights before you send it. */
  prepare({ policy, metrics = {}, skipped = [] }: Report): Prepared {
    this.#held = true;
    const train_ms = Math.round(performance.now() - this.#beganMs);
    const finite = Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)));
    const commit = { batch_sha256: this.lease.batch_sha256, policy, metrics: finite, skipped, train_ms };
    return { batch_id: this.lease.batch_id, weights_sha256: policy?.sha256 ?? '', commit };
  }

  /** Commits the batch, which makes a new version of the run. */
  async commit(report: Report | Prepared): Promise<Committed> {
    clearInterval(this.#timer);
    const committed = await this.#trainer.commit('commit' in report ? report : this.prepare(report));
    this.open = false;
    return committed;
  }

  /** Keeps the batch leased when its loop or the trainer ends, because another process may still be training on it. */
  hold(): void {
    this.#held = true;
  }

  /**
   * Ends the extensions, and releases the batch unless it is committed, prepared, or held. A prepared or held batch stays leased until the
   * next claim, which may keep it, or until its deadline.
   */
  async leave(): Promise<void> {
    clearInterval(this.#timer);
    this.open &&= !this.#held;
    try {
      await this.release();
    } catch (error) {
      if (!(error instanceof TurnstreamError)) throw error;
      this.lost = error;
    }
  }

  /** Releases the lease unless the batch was committed. */
  async release(reason = 'returned'): Promise<void> {
    clearInterval(this.#timer);
    if (!this.open) return;
    this.open = false;
    await this.#send('release', { reason });
  }

  async extend(): Promise<void> {
    await this.#send('extend', {});
  }

  /** Keeps extending the lease. */
  keep(everyMs: number): void {
    this.#timer = setInterval(() => void this.#extendOnce(), everyMs);
    // in Node, it does not keep the process running; in a browser, it is a number
    if (typeof this.#timer === 'object') this.#timer.unref();
  }

  async #extendOnce(): Promise<void> {
    try {
      await this.extend();
    } catch (error) {
      if (!(error instanceof TurnstreamError) || passes(error)) return;
      this.lost = error;
      clearInterval(this.#timer);
    }
  }

  async #send(verb: 'extend' | 'release', body: object): Promise<void> {
    const path = pathOf('batches', `${this.lease.batch_id}:${verb}`);
    await (await this.#transport.send(path, { method: 'POST', body: { epoch: this.#trainer.epoch, ...body } })).body?.cancel();
  }
}
