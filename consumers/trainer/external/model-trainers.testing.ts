// Trainers that behave correctly and incorrectly: they crash at any moment, return with old checkpoints, lose responses, and continue after
// they were fenced. Each call records violations of the protocol.
import type {
  ClaimAnswer,
  ClaimRequest,
  CommitAnswer,
  CommitRequest,
  LeaseAnswer,
  NamedWeights,
} from '../../../streams/leases/coordinator.ts';
import { isAbandoned } from '../../../streams/run/run-state.ts';
import { spansOf } from '../../../streams/trajectory/attempt.ts';
import { claimJob } from './claim.ts';
import { commitJob } from './commit.ts';
import { extendJob, leaseJob, releaseJob } from './lease.ts';
import { call, modelSettings, PREFETCH, publishedIn, type ModelWorld } from './model-world.testing.ts';
import { publishJob } from './publish.ts';

interface PreparedStep {
  readonly batchId: string;
  readonly body: Omit<CommitRequest, 'epoch'>;
}

interface ModelCheckpoint {
  readonly version: number;
  readonly lineage: string;
  readonly prepared?: PreparedStep;
}

export interface ModelTrainer {
  readonly id: string;
  /** 0 = the trainer is not running. */
  epoch: number;
  lineage: string;
  version: number;
  held: LeaseAnswer[];
  /** A step that was trained and whose commit has had no response. */
  made: PreparedStep | undefined;
  /** Newest last. */
  checkpoints: ModelCheckpoint[];
}

export interface ModelRun {
  readonly world: ModelWorld;
  readonly random: () => number;
  readonly violations: string[];
  /** Number of occurrences of each event. */
  readonly seen: Map<string, number>;
  /** The first response to the commit of each batch, and the request. */
  readonly commits: Map<string, { readonly answer: CommitAnswer; readonly body: Omit<CommitRequest, 'epoch'> }>;
}

export const newTrainer = (id: string): ModelTrainer => ({
  ...{ id, epoch: 0, lineage: '', version: 0, held: [], made: undefined, checkpoints: [] },
});

export const note = (run: ModelRun, what: string): void => void run.seen.set(what, (run.seen.get(what) ?? 0) + 1);
export const pick = <T>({ random }: ModelRun, from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];

/** Only the newest trainer may get a response that is not an error. */
function heed(run: ModelRun, trainer: ModelTrainer, called: object): void {
  const newest = run.world.life.state.leases.epoch;
  if ('answer' in called && trainer.epoch !== newest) run.violations.push(`epoch ${trainer.epoch} was served beside ${newest}`);
  if ('refused' in called) {
    note(run, called.refused as string);
    if (called.refused === 'FENCED') dies(trainer);
  }
}

/** The trainer crashes: only its checkpoints remain. */
export function dies(trainer: ModelTrainer): void {
  Object.assign(trainer, { epoch: 0, held: [], made: undefined });
}

function begun(run: ModelRun, trainer: ModelTrainer, { epoch, version, lineage, restore }: ClaimAnswer): void {
  const { state } = run.world.life;
  if (epoch !== state.leases.epoch || version !== state.version) run.violations.push(`a claim was answered ${epoch}/${version}`);
  Object.assign(trainer, { epoch, version, lineage });
  if (restore !== undefined) checkRestore(run, restore);
}

function checkRestore(run: ModelRun, { version, sha256, weights }: NamedWeights): void {
  const known = publishedIn(run.world).get(version);
  if (version !== run.world.life.state.version) run.violations.push(`version ${version} is to be restored, which is not the newest`);
  if ((weights === 'unpublished') !== (known === undefined) || sha256 !== (known ?? ''))
    run.violations.push(`restore tells ${weights} of version ${version}`);
  note(run, `restore ${weights}`);
}

/** Claims the run as a starting trainer does, with its checkpoint if it has one. */
export async function claims(run: ModelRun, trainer: ModelTrainer): Promise<void> {
  const prepared = trainer.checkpoints.at(-1)?.prepared;
  const before = run.world.life.state.leases.out[0]?.batch_id;
  const called = await call(run.world, claimJob(claimOf(trainer)));
  dies(trainer);
  if ('refused' in called) return comesBack(run, trainer, called);
  if ('died' in called || called.answer === undefined) return;
  begun(run, trainer, called.answer);
  if (prepared === undefined) {
    trainer.checkpoints.push({ version: trainer.version, lineage: trainer.lineage });
    return;
  }
  note(run, before === prepared.batchId ? 'prepared, still out' : 'prepared, answer lost');
  trainer.made = prepared;
  await commits(run, trainer, 'must');
}

function claimOf({ id, checkpoints }: ModelTrainer): ClaimRequest {
  const checkpoint = checkpoints.at(-1);
  if (checkpoint === undefined) return { trainer_id: id };
  const { lineage, prepared } = checkpoint;
  if (prepared === undefined) return { trainer_id: id, lineage };
  return { trainer_id: id, lineage, prepared: { batch_id: prepared.batchId, weights_sha256: prepared.body.policy?.sha256 ?? '' } };
}

/** Its checkpoint is outdated: it restores the newest version, or rewinds the run if it cannot. */
async function comesBack(run: ModelRun, trainer: ModelTrainer, called: { refused: string; error: { context: unknown } }): Promise<void> {
  note(run, called.refused);
  if (called.refused !== 'LINEAGE_MISMATCH') run.violations.push(`a claim was refused with ${called.refused}`);
  const { restore } = called.error.context as { restore?: NamedWeights };
  if (restore === undefined) run.violations.push('the error does not name a version to restore');
  else checkRestore(run, restore);
  const goesBack = run.random() < 0.4 || restore?.weights === 'unpublished';
  if (goesBack) await rewinds(run, trainer);
  else trainer.checkpoints.pop();
  if (!goesBack && run.random() < 0.7) trainer.checkpoints = [];
}

export async function rewinds(run: ModelRun, trainer: ModelTrainer): Promise<void> {
  const checkpoint = trainer.checkpoints.at(-1);
  const { version: newest } = run.world.life.state;
  const to = checkpoint?.version ?? Math.max(0, newest - Math.floor(run.random() * 4));
  const lineage = checkpoint === undefined ? {} : { lineage: checkpoint.lineage };
  const called = await call(run.world, claimJob({ trainer_id: trainer.id, ...lineage, rewind: { to_version: to } }));
  dies(trainer);
  if ('refused' in called) {
    note(run, called.refused);
    if (called.refused !== 'REWIND_REFUSED') run.violations.push(`going back was refused with ${called.refused}`);
    trainer.checkpoints = [];
  }
  if (!('answer' in called) || called.answer === undefined) return;
  if (called.answer.version !== newest) note(run, 'went back');
  begun(run, trainer, called.answer);
  trainer.checkpoints = [{ version: called.answer.version, lineage: called.answer.lineage }];
}

export async function leases(run: ModelRun, trainer: ModelTrainer): Promise<void> {
  const held = run.random() < 0.5 ? trainer.held.map(({ batch_id: id }) => id) : undefined;
  const { epoch, lineage } = trainer;
  const called = await call(run.world, leaseJob({ epoch, lineage, ...(held === undefined ? {} : { held }) }));
  heed(run, trainer, called);
  if (!('answer' in called) || called.answer === undefined) return;
  const leased = called.answer;
  if (trainer.held.some(({ batch_id: id }) => id === leased.batch_id)) run.violations.push(`${leased.batch_id} was leased twice`);
  checkLease(run, leased);
  note(run, 'leased');
  // the response may be lost
  if (run.random() < 0.9) trainer.held.push(leased);
}

function checkLease({ world, violations }: ModelRun, { batch_id: id, version_before: newest, groups }: LeaseAnswer): void {
  const { state } = world.life;
  if (state.leases.out.length > PREFETCH + 1) violations.push(`${state.leases.out.length} batches are out`);
  const trajectories = groups.flatMap(({ group_id: groupId }) => [...(state.groups.get(groupId)?.trajectories.values() ?? [])]);
  const attempts = trajectories.flatMap(({ winner, attempts: all }) => (winner === undefined ? [] : (all.get(winner) ?? [])));
  for (const { version } of attempts.flatMap((attempt) => spansOf(attempt))) {
    if (version >= 0 && newest - version > modelSettings.maxStaleness) violations.push(`${id} has tokens of version ${version}`);
    if (isAbandoned(state.rewinds, version)) violations.push(`${id} has tokens of version ${version}, which was abandoned`);
  }
}

/** Runs an optimizer step on the first batch that it holds, and usually saves a checkpoint. */
export function trains(run: ModelRun, trainer: ModelTrainer): void {
  const [lease] = trainer.held;
  if (lease === undefined || trainer.made !== undefined) return;
  const sha256 = Math.floor(run.random() * 2 ** 48)
    .toString(16)
    .padStart(64, '0');
  const policy = run.random() < 0.25 ? null : { uri: `file:///${sha256.slice(-8)}`, sha256, format: 'hf-safetensors' };
  const made = { batchId: lease.batch_id, body: { batch_sha256: lease.batch_sha256, policy, metrics: { loss: run.random() } } };
  trainer.made = made;
  if (run.random() < 0.6) trainer.checkpoints.push({ version: trainer.version, lineage: trainer.lineage, prepared: made });
}

/** Commits the trained step. `must`: the coordinator has just promised to accept it. */
export async function commits(run: ModelRun, trainer: ModelTrainer, how: 'may' | 'must' = 'may'): Promise<void> {
  const { made } = trainer;
  if (made === undefined) return;
  const { batchId, body } = made;
  if (run.random() < 0.06) run.world.log.failNext(run.random() < 0.3 ? 'commit' : 'commit_answer');
  const called = await call(run.world, commitJob(batchId, { epoch: trainer.epoch, ...body }));
  heed(run, trainer, called);
  if ('died' in called) {
    note(run, 'commit unknown');
    // the trainer repeats the commit, or its successor does
    if (run.random() < 0.5) dies(trainer);
    return;
  }
  if ('refused' in called) {
    if (how === 'must') run.violations.push(`${batchId} was prepared, and refused with ${called.refused}`);
    trainer.made = undefined;
    trainer.held = trainer.held.filter(({ batch_id: id }) => id !== batchId);
    return;
  }
  if (called.answer === undefined) return;
  committed(run, trainer, { made, answer: called.answer });
}

function committed(run: ModelRun, trainer: ModelTrainer, { made, answer }: { made: PreparedStep; answer: CommitAnswer }): void {
  const { batchId, body } = made;
  const first = run.commits.get(batchId);
  if (first !== undefined && (!answer.replayed || answer.lineage !== first.answer.lineage))
    run.violations.push(`${batchId} was committed twice`);
  if (first === undefined) run.commits.set(batchId, { answer, body });
  note(run, answer.replayed ? 'replayed' : 'committed');
  // the response may be lost: the trainer commits again, or crashes
  if (run.random() < 0.15) return;
  Object.assign(trainer, { made: undefined, version: answer.version, lineage: answer.lineage });
  trainer.held = trainer.held.filter(({ batch_id: id }) => id !== batchId);
  if (run.random() < 0.8) trainer.checkpoints.push({ version: answer.version, lineage: answer.lineage });
  trainer.checkpoints = trainer.checkpoints.slice(-6);
}

/** Repeats an earlier commit with the same contents or with others. */
export async function repeats(run: ModelRun, trainer: ModelTrainer): Promise<void> {
  const said = pick(run, [...run.commits].slice(-20));
  if (said === undefined) return;
  const [batchId, { answer, body }] = said;
  const isSame = run.random() < 0.6;
  const called = await call(run.world, commitJob(batchId, { epoch: trainer.epoch, ...body, ...(isSame ? {} : { train_ms: 1 }) }));
  heed(run, trainer, called);
  const heard = 'answer' in called ? (called.answer?.lineage ?? '') : 'refused' in called ? called.refused : 'died';
  const wanted = isSame ? answer.lineage : 'BATCH_COMMITTED';
  if (heard !== wanted && heard !== 'FENCED') run.violations.push(`the repeat of ${batchId} came to ${heard}`);
}

export async function extendsOrReleases(run: ModelRun, trainer: ModelTrainer): Promise<void> {
  const lease = pick(run, trainer.held);
  if (lease === undefined) return;
  const request = { batchId: lease.batch_id, epoch: trainer.epoch };
  const releases = run.random() < 0.25;
  const called = releases ? await call(run.world, releaseJob(request)) : await call(run.world, extendJob(request));
  heed(run, trainer, called);
  if (releases || 'refused' in called) {
    trainer.held = trainer.held.filter((one) => one !== lease);
    if (trainer.made?.batchId === lease.batch_id) trainer.made = undefined;
  }
  if ('answer' in called) note(run, releases ? 'released' : 'extended');
}

/** Publishes weights of some version: late, at a new location, or with the wrong hash. */
export async function publishes(run: ModelRun): Promise<void> {
  const version = Math.max(0, run.world.life.state.version - Math.floor(run.random() * 4));
  const known = publishedIn(run.world).get(version);
  const isOther = known !== undefined && run.random() < 0.3;
  const sha256 = isOther ? 'f'.repeat(64) : (known ?? `${version}`.padStart(64, 'a'));
  const uri = `s3://${Math.floor(run.random() * 3)}`;
  const called = await call(run.world, publishJob({ version, sha256, uri, format: 'hf-safetensors' }));
  if ('died' in called) return;
  const heard = 'refused' in called ? called.refused : 'published';
  if (heard !== (isOther ? 'WEIGHTS_CONFLICT' : 'published')) run.violations.push(`publishing version ${version} came to ${heard}`);
  note(run, heard === 'published' ? publishedAs(known) : heard);
}

const publishedAs = (known: string | undefined): string => (known === undefined ? 'late weights' : 'weights moved');
