// Replays steps of a run from the log alone: rebuilds the batch of each step, compares it with the ledger, and, given a learner, repeats
// its update. Writes nothing.
//
// A step is read from the resume point that the previous step recorded, so that the resume point is verified as well; if something is
// missing there, from the first record, which is reported. Steps are read one window at a time, so memory does not grow with the run.
import type { Resume } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { RowsSource } from '../../streams/leases/batch-rows.ts';
import { EXTERNAL } from '../../streams/run/fold.ts';
import { batchStaleness, type BatchStaleness } from '../../streams/staleness/batch-staleness.ts';
import { prepareBatch } from './batches.ts';
import type { WeightsStore } from './checkpoints.ts';
import type { PreparedBatch } from './commit-parts.ts';
import { leasedTrajectory } from './external/leases.ts';
import { createLogRows } from './external/log-rows.ts';
import { compareBatch, compareWeights, together, type ReplayDifference } from './replay-compare.ts';
import { readSteps, surveyLedger, type LedgerStep, type StepMark, type Survey, type WeightsOfRun } from './replay-ledger.ts';
import { forgottenBy, groupsOfStep, rebuildGroups, type Rebuilt, type RebuildSource } from './replay-rebuild.ts';
import { createRetrainer, type OpenLearner, type Retrained, type Retrainer } from './replay-train.ts';

export interface ReplayDeps extends RebuildSource {
  readonly weights: WeightsStore;
  /** If given, updates are repeated as well. */
  readonly openLearner?: OpenLearner;
}

/** The result of a replay. */
export interface ReplayTotal {
  readonly steps: number;
  readonly differing: number;
  /** The run had an external trainer, whose updates cannot be repeated here. */
  readonly isExternal: boolean;
}

export interface ReplayOptions {
  readonly first: number;
  /** Infinity: up to the last existing step. */
  readonly last: number;
  /** Reads from the first record instead of the recorded resume points. */
  readonly fromStart: boolean;
}

/** One step, replayed. */
export interface StepReplay {
  readonly step: number;
  readonly ok: boolean;
  readonly groups: number;
  readonly trajectories: number;
  readonly tokens: number;
  readonly staleness: Pick<BatchStaleness, 'mean' | 'p95' | 'max'>;
  readonly batchSha256: string;
  /** Where reading the log started. */
  readonly from: 'resume' | 'start';
  /** Number of compared values. */
  readonly compared: number;
  readonly differences: readonly ReplayDifference[];
  /** Undefined when the update was not repeated. */
  readonly update: Omit<Retrained, 'compared' | 'differences'> | undefined;
}

const WINDOW_TRAJECTORIES = 2_000;

/** Replays steps in order and returns how many differ. Throws NOT_FOUND or LEDGER_BROKEN before the first one. */
export async function replayRun(
  deps: ReplayDeps,
  options: ReplayOptions,
  onStep: (step: StepReplay, of: number) => void,
): Promise<ReplayTotal> {
  const survey = await surveyLedger(deps, options.last);
  const { first } = options;
  const at = placeOf(survey, deps.runId, first);
  const isExternal = survey.started.backend === EXTERNAL;
  const retrainer = isExternal ? undefined : retrainerOf(deps, survey);
  const steps = survey.steps.length - at;
  let differing = 0;
  try {
    for (const window of windowsOf(survey.steps.slice(retrainer === undefined ? at : retrainer.beginsAt(first) - 1))) {
      for await (const replayed of replayWindow(deps, { survey, window, retrainer, fromStart: options.fromStart })) {
        if (replayed.step < first) continue;
        if (!replayed.ok) differing += 1;
        onStep(replayed, steps);
      }
    }
  } finally {
    await retrainer?.close();
  }
  return { steps, differing, isExternal };
}

/** Index of the first step from `first` on: a rewind has a number but makes no step. */
function placeOf({ steps }: Survey, run: string, first: number): number {
  const at = steps.findIndex(({ step }) => step >= first);
  if (at >= 0) return at;
  throw new PlatformError('NOT_FOUND', `replaying run ${run}: it has no step ${first}; it made ${steps.at(-1)?.step ?? 0}`);
}

const retrainerOf = (deps: ReplayDeps, survey: Survey): Retrainer | undefined =>
  deps.openLearner && createRetrainer({ source: deps, survey, weights: deps.weights, open: deps.openLearner });

function windowsOf(marks: readonly StepMark[]): readonly (readonly [StepMark, ...StepMark[]])[] {
  const windows: [StepMark, ...StepMark[]][] = [];
  let size = Infinity;
  for (const mark of marks) {
    size += mark.trajectories;
    const current = windows.at(-1);
    if (current === undefined || size > WINDOW_TRAJECTORIES) {
      windows.push([mark]);
      size = mark.trajectories;
    } else {
      current.push(mark);
    }
  }
  return windows;
}

interface ReplayWindow {
  readonly survey: Survey;
  readonly window: readonly [StepMark, ...StepMark[]];
  readonly retrainer: Retrainer | undefined;
  readonly fromStart: boolean;
}

async function* replayWindow(deps: ReplayDeps, { survey, window, retrainer, fromStart }: ReplayWindow): AsyncGenerator<StepReplay> {
  const [first, last] = [window[0], window.at(-1) ?? window[0]];
  const steps = await readSteps(deps, first, last);
  const before = survey.steps[survey.steps.indexOf(first) - 1]?.resume ?? survey.started.resume;
  const found = await rebuild(deps, steps, fromStart ? undefined : before);
  await retrainer?.load(first.step, last.step);
  const rows = createLogRows(deps);
  const hashOf = async (batch: PreparedBatch): Promise<string> => (await rows.measure(await rowsSource(deps, batch, found))).sha256;
  for (const step of steps) yield await replayStep(step, found, { retrainer, hashOf, weights: survey.weights });
}

interface RebuiltStep {
  readonly rebuilt: Rebuilt;
  /** Where the log was read from; undefined for its first record. */
  readonly resume: Resume | undefined;
  readonly from: 'resume' | 'start';
  /** Missing after the resume point but present in the log. */
  readonly before: ReadonlySet<string>;
  /** Explains trajectories that are missing everywhere. */
  readonly why: string;
}

const NONE: ReadonlySet<string> = new Set();

async function rebuild(deps: ReplayDeps, steps: readonly LedgerStep[], resume: Resume | undefined): Promise<RebuiltStep> {
  const near = await rebuildGroups(deps, steps, resume);
  if (resume === undefined || near.missing.size === 0) {
    return { rebuilt: near, resume, from: resume === undefined ? 'start' : 'resume', before: NONE, why: await whyMissing(deps, near) };
  }
  const whole = await rebuildGroups(deps, steps, undefined);
  const before = new Set([...near.missing].filter((id) => !whole.missing.has(id)));
  return { rebuilt: whole, resume: undefined, from: 'start', before, why: await whyMissing(deps, whole) };
}

/** Reports where the log begins if that is not 0: retention may have deleted what is missing. */
async function whyMissing({ log }: ReplayDeps, { missing }: Rebuilt): Promise<string> {
  if (missing.size === 0) return '';
  const bounds = [
    ...(await log.bounds('tasks')).map((one) => ['tasks', one] as const),
    ...(await log.bounds('rollouts')).map((one) => ['rollouts', one] as const),
  ];
  const cut = bounds
    .filter(([, { first }]) => first > 0)
    .map(([topic, { partition, first }]) => `${topic}/${partition} begins at ${first}`);
  return cut.length === 0 ? '' : `; retention has deleted records: ${cut.join(', ')}`;
}

/** What the rows of a batch are made from, read from the log alone. */
async function rowsSource(deps: ReplayDeps, { trajectories }: PreparedBatch, { resume }: RebuiltStep): Promise<RowsSource> {
  const from = new Map(resume?.rollouts.map(({ partition, offset }) => [partition, offset]));
  const bounds = await deps.log.bounds('rollouts');
  return {
    run_id: deps.runId,
    trajectories: trajectories.map(leasedTrajectory),
    rollouts: bounds.map(({ partition, first, end }) => ({ partition, offset: from.get(partition) ?? first, end })),
  };
}

interface ReplayTools {
  readonly retrainer: Retrainer | undefined;
  /** Hash of the rows of a batch. */
  readonly hashOf: (batch: PreparedBatch) => Promise<string>;
  readonly weights: WeightsOfRun;
}

async function replayStep(
  step: LedgerStep,
  { rebuilt, from, before, why }: RebuiltStep,
  { retrainer, hashOf, weights }: ReplayTools,
): Promise<StepReplay> {
  const { event } = step;
  const groups = groupsOfStep(event, rebuilt.groups);
  const prepared = prepareBatch(groups, event.version_before, { nowMs: 0, waitedSinceMs: 0 });
  // with an external trainer, the hash of a batch is that of its rows
  const batch = event.batch_id === '' ? prepared : { ...prepared, sha256: await hashOf(prepared) };
  const comparison = together([compareBatch(event, batch, why), compareWeights(event, weights)]);
  const differences = [...comparison.differences, ...unsettled(step, rebuilt), ...unreached(step, before)];
  const update = retrainer === undefined || differences.length > 0 ? undefined : await retrainer.again(step, batch);
  const all = [...differences, ...(update?.differences ?? [])];
  return {
    step: event.step,
    ok: all.length === 0,
    groups: groups.length,
    trajectories: batch.trajectories.length,
    tokens: batch.trajectories.reduce((sum, { attempt }) => sum + attempt.tokens, 0),
    staleness: batchStaleness(batch.trajectories, batch.ages),
    batchSha256: batch.sha256,
    from,
    compared: comparison.compared + (update?.compared ?? 0),
    differences: all,
    update:
      update === undefined
        ? undefined
        : { backend: update.backend, recordedBackend: update.recordedBackend, largestDifference: update.largestDifference },
  };
}

const unsettled = (step: LedgerStep, { groups }: Rebuilt): readonly ReplayDifference[] =>
  forgottenBy(step, groups).map((trajectory) => ({
    ...{ field: 'trajectory', trajectory },
    recorded: 'neither trained on nor discarded',
    rebuilt: 'asked for with its group',
  }));

const unreached = ({ event }: LedgerStep, before: ReadonlySet<string>): readonly ReplayDifference[] =>
  event.trajectories
    .filter(({ trajectory_id: id }) => before.has(id))
    .map(({ trajectory_id: trajectory }) => ({
      ...{ field: 'resume', trajectory },
      recorded: 'needed from the resume point of the step before',
      rebuilt: 'lies before it',
    }));
