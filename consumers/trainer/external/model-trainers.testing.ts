// Trainers that do what trainers do and what they must not: they die at every moment, come back with old checkpoints, lose answers, and go on
// after they were fenced. Each call notes what contradicts the protocol.
import type {
  ClaimAnswer,
  ClaimRequest,
  CommitAnswer,
  CommitRequest,
  LeaseAnswer,
  NamedWeights,
} from '../../../streams/leases/coordinator.ts';
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
  /** 0 = it is not running. */
  epoch: number;
  lineage: string;
  version: number;
  held: LeaseAnswer[];
  /** The step that it has made and not heard of. */
  made: PreparedStep | undefined;
  /** Newest last. */
  checkpoints: ModelCheckpoint[];
}

export interface ModelRun {
  readonly world: ModelWorld;
  readonly random: () => number;
  readonly violations: string[];
  /** How often each thing happened. */
  readonly seen: Map<string, number>;
  /** The first answer to each commit, and what was committed. */
  readonly commits: Map<string, { readonly answer: CommitAnswer; readonly body: Omit<CommitRequest, 'epoch'> }>;
}

export const newTrainer = (id: string): ModelTrainer => ({
  ...{ id, epoch: 0, lineage: '', version: 0, held: [], made: undefined, checkpoints: [] },
});

export const note = (run: ModelRun, what: string): void => void run.seen.set(what, (run.seen.get(what) ?? 0) + 1);
export const pick = <T>({ random }: ModelRun, from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];

/** An answer to a trainer that is not the newest would be wrong. */
function heed(run: ModelRun, trainer: ModelTrainer, called: object): void {
  const newest = run.world.life.state.leases.epoch;
  if ('answer' in called && trainer.epoch !== newest) run.violations.push(`epoch ${trainer.epoch} was served beside ${newest}`);
  if ('refused' in called) {
    note(run, called.refused as string);
    if (called.refused === 'FENCED') dies(trainer);
  }
}

/** Only what is in its checkpoints is left. */
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

/** Claims the run as a trainer does that starts: with its checkpoint if there is one. */
export async function claims(run: ModelRun, trainer: ModelTrainer): Promise<void> {
  const checkpoint = trainer.checkpoints.at(-1);
  const prepared = checkpoint?.prepared;
  const request: ClaimRequest = {
    trainer_id: trainer.id,
    ...(checkpoint === undefined ? {} : { lineage: checkpoint.lineage }),
    ...(prepared === undefined ? {} : { prepared: { batch_id: prepared.batchId, weights_sha256: prepared.body.policy?.sha256 ?? '' } }),
  };
  const before = run.world.life.state.leases.out[0]?.batch_id;
  const called = await call(run.world, claimJob(request));
  dies(trainer);
  if ('died' in called) return;
  if ('refused' in called) return comesBack(run, trainer, called);
  if (called.answer === undefined) return;
  begun(run, trainer, called.answer);
  if (prepared === undefined) {
    trainer.checkpoints.push({ version: trainer.version, lineage: trainer.lineage });
    return;
  }
  note(run, before === prepared.batchId ? 'prepared, still out' : 'prepared, answer lost');
  trainer.made = prepared;
  await commits(run, trainer, 'must');
}

/** Its checkpoint is not the newest version: it restores that, or it cannot and takes the run back. */
async function comesBack(run: ModelRun, trainer: ModelTrainer, called: { refused: string; error: { context: unknown } }): Promise<void> {
  note(run, called.refused);
  if (called.refused !== 'LINEAGE_MISMATCH') run.violations.push(`a claim was refused with ${called.refused}`);
  const { restore } = called.error.context as { restore?: NamedWeights };
  if (restore === undefined) run.violations.push('nothing is said of what to restore');
  else checkRestore(run, restore);
  const goesBack = run.random() < 0.4 || restore?.weights === 'unpublished';
  if (goesBack) await rewinds(run, trainer);
  else trainer.checkpoints.pop();
  if (!goesBack && run.random() < 0.7) trainer.checkpoints = [];
}

export async function rewinds(run: ModelRun, trainer: ModelTrainer): Promise<void> {
  const checkpoint = trainer.checkpoints.at(-1);
  const { leases, version: newest } = run.world.life.state;
  const to = checkpoint?.version ?? Math.max(0, newest - Math.floor(run.random() * 4));
  const commit = leases.commits.find(({ version }) => version === to);
  const lineage = checkpoint?.lineage;
  const called = await call(
    run.world,
    claimJob({ trainer_id: trainer.id, ...(lineage === undefined ? {} : { lineage }), rewind: { to_version: to } }),
  );
  dies(trainer);
  if ('died' in called) return;
  if ('refused' in called) {
    note(run, called.refused);
    if (commit?.isAbandoned === false && called.refused !== 'REWIND_REFUSED')
      run.violations.push(`going back was refused with ${called.refused}`);
    trainer.checkpoints = [];
    return;
  }
  if (called.answer === undefined) return;
  const made = called.answer.version;
  if (made !== newest) note(run, 'went back');
  begun(run, trainer, called.answer);
  trainer.checkpoints = [{ version: made, lineage: called.answer.lineage }];
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
  // the answer may be lost
  if (run.random() < 0.9) trainer.held.push(leased);
}

function checkLease({ world, violations }: ModelRun, { batch_id: id, version_before: version, groups }: LeaseAnswer): void {
  const { state } = world.life;
  if (state.leases.out.length > PREFETCH + 1) violations.push(`${state.leases.out.length} batches are out`);
  for (const { group_id: groupId } of groups) {
    for (const { winner, attempts } of state.groups.get(groupId)?.trajectories.values() ?? []) {
      const attempt = winner === undefined ? undefined : attempts.get(winner);
      for (const span of attempt === undefined ? [] : spansOf(attempt)) {
        if (span.version >= 0 && version - span.version > modelSettings.maxStaleness)
          violations.push(`${id} has tokens of version ${span.version}`);
        if (state.rewinds.some(({ to, version: made }) => span.version > to && span.version < made))
          violations.push(`${id} has tokens of version ${span.version}, which was abandoned`);
      }
    }
  }
}

/** The optimizer step on the first batch that it holds, with a checkpoint behind it or without. */
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

/** Commits what it has made. `must`: the coordinator has just said that it will take it. */
export async function commits(run: ModelRun, trainer: ModelTrainer, how: 'may' | 'must' = 'may'): Promise<void> {
  const { made } = trainer;
  if (made === undefined) return;
  const { batchId, body } = made;
  if (run.random() < 0.06) run.world.log.failNext(run.random() < 0.3 ? 'commit' : 'commit_answer');
  const called = await call(run.world, commitJob(batchId, { epoch: trainer.epoch, ...body }));
  heed(run, trainer, called);
  if ('died' in called) {
    note(run, 'commit unknown');
    // it says the same again, or its successor does
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
  // the answer may be lost: it commits again, or dies
  if (run.random() < 0.15) return;
  Object.assign(trainer, { made: undefined, version: answer.version, lineage: answer.lineage });
  trainer.held = trainer.held.filter(({ batch_id: id }) => id !== batchId);
  if (run.random() < 0.8) trainer.checkpoints.push({ version: answer.version, lineage: answer.lineage });
  trainer.checkpoints = trainer.checkpoints.slice(-6);
}

/** Says again, or otherwise, what was committed before. */
export async function repeats(run: ModelRun, trainer: ModelTrainer): Promise<void> {
  const said = pick(run, [...run.commits].slice(-20));
  if (said === undefined) return;
  const [batchId, { answer, body }] = said;
  const isSame = run.random() < 0.6;
  const called = await call(run.world, commitJob(batchId, { epoch: trainer.epoch, ...body, ...(isSame ? {} : { train_ms: 1 }) }));
  heed(run, trainer, called);
  if ('refused' in called && called.refused === 'FENCED') return;
  if (isSame && (!('answer' in called) || called.answer?.lineage !== answer.lineage))
    run.violations.push(`the repeat of ${batchId} got another answer`);
  if (!isSame && (!('refused' in called) || called.refused !== 'BATCH_COMMITTED'))
    run.violations.push(`${batchId} was committed otherwise`);
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

/** Weights of some version, late, or again elsewhere, or other ones. */
export async function publishes(run: ModelRun): Promise<void> {
  const { state } = run.world.life;
  const version = Math.max(0, state.version - Math.floor(run.random() * 4));
  const known = publishedIn(run.world).get(version);
  const isOther = known !== undefined && run.random() < 0.3;
  const sha256 = isOther || known === undefined ? `${version}`.padStart(63, 'a') + (isOther ? 'f' : '0') : known;
  const uri = `s3://${Math.floor(run.random() * 3)}`;
  const called = await call(run.world, publishJob({ version, sha256, uri, format: 'hf-safetensors' }));
  if ('died' in called) return;
  if (isOther !== ('refused' in called && called.refused === 'WEIGHTS_CONFLICT'))
    run.violations.push(`weights of version ${version}: ${JSON.stringify(called)}`);
  if ('refused' in called) note(run, called.refused);
  if ('answer' in called) note(run, known === undefined ? 'late weights' : 'weights moved');
}
