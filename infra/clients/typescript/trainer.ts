// A trainer of a run: it claims the run, leases batches, and commits what it made of them.
import { linesOf } from './live.ts';
import { pathOf, type Transport } from './transport.ts';

/** Weights of a version. */
export interface Weights {
  readonly uri: string;
  readonly sha256: string;
  readonly format: string;
  readonly bytes?: number;
  /** False: engines cannot load them from the URI, because the trainer pushes them. */
  readonly loadable?: boolean;
  readonly manifest?: readonly { readonly name: string; readonly sha256: string }[];
}

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
  /** Numbers of its turns, and where the completion of each begins. */
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

/** What a batch was committed with. */
export interface Report {
  readonly policy: Weights | null;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly skipped?: readonly { readonly row: number; readonly reason: string }[];
}

/** A commit that is kept in a checkpoint before it is made. */
export interface Prepared {
  readonly batch_id: string;
  readonly weights_sha256: string;
  readonly commit: Readonly<Record<string, unknown>>;
}

export interface Committed {
  readonly step: number;
  readonly version: number;
  /** To be kept in the checkpoint. */
  readonly lineage: string;
  /** It had been committed before, in the same words. */
  readonly replayed: boolean;
}

export interface TrainerOptions {
  readonly framework?: string;
  /** Of the checkpoint, if there is one. */
  readonly lineage?: string;
  readonly prepared?: Prepared;
}

interface Claim {
  readonly epoch: number;
  readonly version: number;
  readonly lineage: string;
  readonly lease_ms: number;
  readonly restore?: { readonly version: number; readonly uri: string; readonly sha256: string };
}

const WAIT_MS = 20_000;
const SOON_MS = 500;
/** Extensions in the time of a lease: two may be lost. */
const EXTENSIONS = 3;

/** The trainer of a run after its claim. The next claim fences it: its calls then fail with FENCED. */
export class Trainer {
  readonly #transport: Transport;
  readonly #run: string;
  readonly #claim: Claim;
  #open: readonly Batch[] = [];
  version: number;
  /** To be kept in every checkpoint. */
  lineage: string;

  private constructor(transport: Transport, run: string, claim: Claim) {
    this.#transport = transport;
    this.#run = run;
    this.#claim = claim;
    this.version = claim.version;
    this.lineage = claim.lineage;
  }

  /** Claims the run, and commits what the checkpoint says was prepared. */
  static async claim(transport: Transport, at: { readonly run: string; readonly id: string }, options: TrainerOptions): Promise<Trainer> {
    const { prepared, ...rest } = options;
    const named = prepared === undefined ? {} : { prepared: { batch_id: prepared.batch_id, weights_sha256: prepared.weights_sha256 } };
    const body = { trainer_id: at.id, ...rest, ...named };
    // a claim fences those before it, so it is not repeated by itself
    const claim = await transport.json<Claim>(pathOf('runs', at.run, 'trainer'), { method: 'POST', body, idempotent: false });
    const trainer = new Trainer(transport, at.run, claim);
    if (prepared !== undefined) await trainer.commit(prepared);
    return trainer;
  }

  get epoch(): number {
    return this.#claim.epoch;
  }

  /** What to load first; undefined for a trainer whose weights are those of the run. */
  get restore(): Claim['restore'] {
    return this.#claim.restore;
  }

  /** The next batch; undefined if there is none within `waitMs`. */
  async lease(waitMs = WAIT_MS): Promise<Batch | undefined> {
    this.#open = this.#open.filter(({ open }) => open);
    // a batch whose answer was lost is not among those that are held: the coordinator answers it again
    const body = { epoch: this.epoch, lineage: this.lineage, held: this.#open.map(({ lease }) => lease.batch_id), wait_ms: waitMs };
    const response = await this.#transport.send(pathOf('runs', this.#run, 'batches:lease'), { method: 'POST', body });
    if (response.status === 204) return undefined;
    const batch = new Batch(this, this.#transport, (await response.json()) as Lease);
    batch.keep(this.#claim.lease_ms / EXTENSIONS);
    this.#open = [...this.#open, batch];
    return batch;
  }

  /** Batches, one after the other, until version `steps` of the run. One that is not committed is released. */
  async *batches({ steps = Infinity, waitMs = WAIT_MS } = {}): AsyncGenerator<Batch> {
    while (this.version < steps) {
      const batch = await this.lease(waitMs);
      if (batch === undefined) {
        await this.#transport.sleep(SOON_MS);
        continue;
      }
      try {
        yield batch;
      } finally {
        await batch.release();
      }
    }
  }

  /** Commits a batch by what was prepared. Repeated, it answers the same. */
  async commit({ batch_id, commit }: Prepared): Promise<Committed> {
    const body = { epoch: this.epoch, ...commit };
    const committed = await this.#transport.json<Committed>(pathOf('batches', `${batch_id}:commit`), { method: 'POST', body });
    this.version = committed.version;
    this.lineage = committed.lineage;
    return committed;
  }
}

/** Trajectories that are this trainer's until the deadline, which is extended until the batch is committed or released. */
export class Batch {
  readonly #trainer: Trainer;
  readonly #transport: Transport;
  readonly #beganMs = performance.now();
  #timer: NodeJS.Timeout | undefined;
  readonly lease: Lease;
  open = true;

  constructor(trainer: Trainer, transport: Transport, lease: Lease) {
    this.#trainer = trainer;
    this.#transport = transport;
    this.lease = lease;
  }

  /** The rows, while they arrive. */
  async *rows(): AsyncGenerator<TrainingRow> {
    const response = await this.#transport.send(this.lease.data.href, { headers: { accept: 'application/x-ndjson' } });
    for await (const line of linesOf(response)) yield JSON.parse(line) as TrainingRow;
  }

  /** The commit of this batch, to be kept in a checkpoint together with the new weights before it is made. */
  prepare({ policy, metrics = {}, skipped = [] }: Report): Prepared {
    const train_ms = Math.round(performance.now() - this.#beganMs);
    const commit = { batch_sha256: this.lease.batch_sha256, policy, metrics, skipped, train_ms };
    return { batch_id: this.lease.batch_id, weights_sha256: policy?.sha256 ?? '', commit };
  }

  /** Trained: the run has a new version. */
  async commit(report: Report | Prepared): Promise<Committed> {
    clearInterval(this.#timer);
    const committed = await this.#trainer.commit('commit' in report ? report : this.prepare(report));
    this.open = false;
    return committed;
  }

  /** Gives the trajectories back if they were not committed. */
  async release(reason = 'returned'): Promise<void> {
    clearInterval(this.#timer);
    if (!this.open) return;
    this.open = false;
    await this.#send('release', { reason });
  }

  async extend(): Promise<void> {
    await this.#send('extend', {});
  }

  /** Extends the lease from now on. One that is lost shows at the commit. */
  keep(everyMs: number): void {
    this.#timer = setInterval(() => void this.extend().catch(() => undefined), everyMs);
    this.#timer.unref();
  }

  async #send(verb: 'extend' | 'release', body: object): Promise<void> {
    const path = pathOf('batches', `${this.lease.batch_id}:${verb}`);
    await (await this.#transport.send(path, { method: 'POST', body: { epoch: this.#trainer.epoch, ...body } })).body?.cancel();
  }
}
