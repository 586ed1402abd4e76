// Requests and responses of external trainers, as the API describes them.
import { Type } from 'typebox';
import type { NamedWeights } from '../../../streams/leases/coordinator.ts';
import { batchIdPattern } from '../../../streams/leases/lease-book.ts';

const sha256 = (description: string) => Type.String({ pattern: '^[0-9a-f]{64}$', description });
const MAX_INT = 2 ** 31 - 1;
const count = (description: string, maximum = MAX_INT) => Type.Integer({ minimum: 0, maximum, description });
const closed = { additionalProperties: false } as const;
const epoch = Type.Integer({ minimum: 1, maximum: MAX_INT, description: 'Of the newest claim of the caller.' });
const lineage = 'Lineage token: SHA-256 of the ledger entry of a commit. Keep it in the checkpoint.';
const batchText = Type.String({ pattern: batchIdPattern.source, description: '`<run>/step/<n>.<try>`, percent-encoded in a path.' });

export const batchParams = Type.Object({ batch: batchText });

/** At most 9,999 parts, more than anybody reads in parallel. */
const SHARD = '^(0|[1-9]\\d{0,3})/[1-9]\\d{0,3}$';

export const rowsQuery = Type.Object(
  { shard: Type.Optional(Type.String({ pattern: SHARD, description: '`<i>/<n>`: the rows of part i of n, counted from 0.' })) },
  closed,
);

const rowsHeader = (description: string) => Type.Optional(Type.String({ maxLength: 4_000, description }));

export const rowsHeaders = Type.Object({
  accept: rowsHeader('`application/vnd.apache.arrow.stream`, or `application/x-ndjson`, which is the default.'),
  'if-none-match': rowsHeader('ETag of the rows that you have.'),
  range: rowsHeader('One range of bytes. Several are ignored.'),
  'if-range': rowsHeader('ETag of the rows that the range is of.'),
});

export const claimBody = Type.Object(
  {
    trainer_id: Type.String({ minLength: 1, maxLength: 200, description: 'A name of your choice; the ledger has it.' }),
    framework: Type.Optional(Type.String({ maxLength: 200, description: 'Kept in the ledger.' })),
    lineage: Type.Optional(Type.String({ maxLength: 64, description: `${lineage} Leave it out without a checkpoint.` })),
    prepared: Type.Optional(
      Type.Object(
        { batch_id: batchText, weights_sha256: Type.String({ maxLength: 64, description: 'Of what was trained on it.' }) },
        { ...closed, description: 'The checkpoint holds the step of this batch, and its commit was not answered.' },
      ),
    ),
    rewind: Type.Optional(
      Type.Object(
        {
          to_version: count('Of the checkpoint, or without one the version to restore.'),
          reason: Type.Optional(Type.String({ maxLength: 400, description: 'Kept in the ledger.' })),
        },
        {
          ...closed,
          description:
            'The newest version is lost to the trainer: the run goes back. The steps after that version are abandoned and their trajectories discarded.',
        },
      ),
    ),
  },
  { ...closed, title: 'TrainerClaim' },
);

const restore = Type.Object(
  {
    version: Type.Integer(),
    uri: Type.String(),
    sha256: Type.String(),
    format: Type.String(),
    weights: Type.Enum(['elsewhere', 'in_log', 'unpublished'], {
      description:
        'Where they are: at `uri`; in PolicyPublished of the log; or nowhere yet, because the commit named none and nobody has published them since.',
    }),
  },
  { title: 'NamedWeights', description: 'The newest version and where its weights are.' },
);

export const claimAnswer = Type.Object(
  {
    epoch: Type.Integer({ description: 'Name it in every call. A later claim ends it.' }),
    version: Type.Integer({ description: 'Newest committed version.' }),
    lineage: Type.String({ description: lineage }),
    lease_ms: Type.Integer({ description: 'How long a lease lasts unless it is extended.' }),
    restore: Type.Optional(Type.Unsafe<NamedWeights>(restore)),
  },
  { title: 'TrainerClaimed' },
);

export const leaseBody = Type.Object(
  {
    epoch,
    lineage: Type.String({ maxLength: 64, description: 'Of the newest commit.' }),
    held: Type.Optional(
      Type.Array(batchText, {
        maxItems: 8,
        description: 'Batches that you hold. One that is out beside these, because its answer was lost, is answered again.',
      }),
    ),
    wait_ms: Type.Optional(count('How long to wait for a batch.', 60_000)),
    format: Type.Optional(Type.Enum(['arrow', 'ndjson'], { description: 'Not needed: the Accept header of the rows decides.' })),
  },
  { ...closed, title: 'LeaseRequest' },
);

export const leaseAnswer = Type.Object(
  {
    batch_id: Type.String(),
    step: Type.Integer({ description: 'The step that the batch is for; it makes the version of the same number.' }),
    version_before: Type.Integer(),
    batch_sha256: Type.String({ description: 'Of the rows.' }),
    rows: Type.Integer(),
    trainable_rows: Type.Integer({ description: 'Rows that may be trained on. In the others, `trainable` is false.' }),
    tokens: Type.Integer({ description: 'Token ids in the rows.' }),
    bytes: Type.Integer({ description: 'Of the rows as NDJSON.' }),
    deadline: Type.String({ format: 'date-time', description: 'When the lease ends unless it is extended.' }),
    groups: Type.Array(Type.Object({ group_id: Type.String(), trajectories: Type.Integer() })),
    data: Type.Object({
      href: Type.String(),
      formats: Type.Array(Type.String()),
      shards: Type.Integer({ description: 'Parts that are worth being read beside each other.' }),
    }),
  },
  { title: 'LeasedBatch' },
);

export const extendBody = Type.Object(
  { epoch, progress: Type.Optional(Type.Number({ description: 'Not kept.' })) },
  { ...closed, title: 'LeaseExtension' },
);
export const releaseBody = Type.Object(
  { epoch, reason: Type.Optional(Type.String({ maxLength: 400, description: 'Not kept.' })) },
  { ...closed, title: 'BatchRelease' },
);
export const extendAnswer = Type.Object({ deadline: Type.String({ format: 'date-time' }) }, { title: 'LeaseDeadline' });
export const releaseAnswer = Type.Object(
  { released: Type.Array(Type.String(), { description: 'The batch, and those that were leased behind it.' }) },
  { title: 'ReleasedBatches' },
);

const weights = {
  uri: Type.String({ maxLength: 2_000, description: 'Where the weights are; turnstream passes it on.' }),
  sha256: sha256('Of the weights.'),
  format: Type.String({ minLength: 1, maxLength: 100, description: 'Such as hf-safetensors, peft-lora, gguf, or engine-pushed.' }),
  bytes: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  loadable: Type.Optional(Type.Boolean({ description: 'False for weights that nobody can load from `uri`. True when left out.' })),
  manifest: Type.Optional(
    Type.Array(Type.Object({ name: Type.String({ maxLength: 400 }), sha256: sha256('Of the file.') }, closed), { maxItems: 2_000 }),
  ),
};
const policy = Type.Object(weights, { ...closed, title: 'CommittedWeights' });

export const publishBody = Type.Object(
  {
    version: count('A committed version, or 0.'),
    epoch: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_INT, description: 'Of the newest claim, where the trainer publishes.' })),
    ...weights,
  },
  { ...closed, title: 'PublishedWeights' },
);

export const publishAnswer = Type.Object(
  {
    version: Type.Integer(),
    sha256: Type.String(),
    replayed: Type.Boolean({ description: 'True when the same was published before.' }),
  },
  { title: 'PublishedVersion' },
);

export const commitBody = Type.Object(
  {
    epoch,
    batch_sha256: sha256('As it was leased.'),
    policy: Type.Union([policy, Type.Null()], { description: 'Null when the weights of this version are published later, or never.' }),
    metrics: Type.Record(Type.String({ maxLength: 100 }), Type.Number(), {
      maxProperties: 200,
      description:
        'Numbers of your choice. loss, approx_kl, behave_kl, clip_fraction, capped_fraction, ess, entropy and grad_norm have columns.',
    }),
    skipped: Type.Optional(
      Type.Array(Type.Object({ row: count('0-based place in the batch.'), reason: Type.String({ maxLength: 400 }) }, closed), {
        maxItems: 10_000,
        description: 'Rows that were not trained on. Rows that must not be trained on need not be listed.',
      }),
    ),
    train_ms: Type.Optional(Type.Number({ minimum: 0 })),
  },
  { ...closed, title: 'BatchCommit' },
);

export const commitAnswer = Type.Object(
  {
    step: Type.Integer(),
    version: Type.Integer(),
    lineage: Type.String({ description: lineage }),
    replayed: Type.Boolean({ description: 'True when the batch was committed before: this is the answer of then.' }),
  },
  { title: 'CommittedBatch' },
);
