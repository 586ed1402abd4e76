// Checks that every step and every discard agree with the records: the attempt, its reward, tokens and staleness, the advantages of its
// group, the means of the batch and the hash of the learner's input.
import { createHash } from 'node:crypto';
import { gather, isOfAttempt, type GroupCase, type Case, type DiscardFact, type StepFact, type TrainedFact } from './case.ts';
import type { LogFact } from './facts.ts';
import { problemsOf, type TortureProblem } from './problem.ts';
import { accountOf, agesOf, isWhole, summarise, turnsOf, type AttemptHistory, type TrajectoryHistory } from './refold.ts';

type TrainedAccount = Omit<TrainedFact, 'advantage'>;

export function checkSteps(of: Case): readonly TortureProblem[] {
  return problemsOf(
    'step',
    of.steps.flatMap((step) => checkStep(of, step).map((what) => `step ${step.event.step}: ${what}`)),
  );
}

function checkStep(of: Case, { event }: StepFact): readonly string[] {
  const rows = event.trajectories.flatMap((row) => {
    const winner = of.histories.get(row.trajectory_id)?.winner;
    return winner === undefined ? [] : [{ row, winner }];
  });
  if (rows.length < event.trajectories.length) return ['it trained on a trajectory of which no attempt is whole'];
  return [
    ...rows.flatMap(({ row, winner }) => checkRow(row, winner, event.version_before).map((what) => `${row.trajectory_id}: ${what}`)),
    ...checkGroups(of, event),
    ...checkMeans(event, rows),
    ...(batchHash(rows) === event.batch_sha256 ? [] : ['the hash of its batch is not that of the records']),
  ];
}

const differs = (is: number, should: number): boolean => !(Math.abs(is - should) <= 1e-9 * Math.max(1, Math.abs(should)));

/** Names of the figures that differ. */
const compare = (is: Readonly<Record<string, unknown>>, should: Readonly<Record<string, number>>): readonly string[] =>
  Object.entries(should).flatMap(([name, value]) =>
    differs(Number(is[name]), value) ? [`${name} is ${String(is[name])}, the records give ${value}`] : [],
  );

function checkRow(row: TrainedAccount, winner: AttemptHistory, version: number): readonly string[] {
  if (row.attempt !== winner.number) return [`attempt ${row.attempt} is named, attempt ${winner.number} was the first that counts`];
  return compare({ ...row }, expectedRow(winner, version));
}

function expectedRow(attempt: AttemptHistory, version: number): Readonly<Record<string, number>> {
  const { end } = attempt;
  return { ...accountOf(attempt, version), reward: end?.reward ?? 0, turns: end?.turns ?? 0, flight_ms: end?.flightMs ?? 0 };
}

function checkGroups(of: Case, event: StepFact['event']): readonly string[] {
  const groups = gather(event.trajectories.map((row) => [row.group_id, row] as const));
  const places = [...groups.keys()].map((id) => of.groups.get(id)?.index ?? -1);
  const sorted = [...places].sort((a, b) => a - b);
  return [
    ...(groups.size === event.groups && event.groups === of.run?.batch_groups
      ? []
      : [`it says ${event.groups} groups and has ${groups.size}`]),
    ...(places.every((place, i) => place === sorted[i]) ? [] : ['its groups are not in the order of their admission']),
    ...[...groups.values()].flatMap((rows) => checkAdvantages(rows, of)),
  ];
}

function checkAdvantages(rows: readonly TrainedFact[], of: Case): readonly string[] {
  const rewards = rows.map((row) => of.histories.get(row.trajectory_id)?.winner?.end?.reward ?? NaN);
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const deviation = Math.sqrt(rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards.length);
  if (rows.length < 2) return [`${rows[0]?.group_id ?? ''} was trained on with one trajectory`];
  if (rewards.every((reward) => reward === rewards[0])) return [`${rows[0]?.group_id ?? ''} has the same reward everywhere`];
  return rows.flatMap((row, i) => {
    const should = ((rewards[i] ?? NaN) - mean) / (deviation + 1e-6);
    return differs(row.advantage, should) ? [`${row.trajectory_id}: advantage is ${row.advantage}, the rewards give ${should}`] : [];
  });
}

interface Read {
  readonly row: TrainedFact;
  readonly winner: AttemptHistory;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

function checkMeans(event: StepFact['event'], rows: readonly Read[]): readonly string[] {
  const accounts = rows.map(({ winner }) => accountOf(winner, event.version_before));
  const ends = rows.flatMap(({ winner }) => winner.end ?? []);
  const ages = new Map<number, number>();
  for (const { winner } of rows)
    for (const [age, tokens] of agesOf(winner, event.version_before)) ages.set(age, (ages.get(age) ?? 0) + tokens);
  const tokens = summarise(ages);
  const totals = accounts.map((account) => account.staleness_total);
  return [
    ...compare(
      { tokens: event.tokens, unknown_tokens: event.unknown_tokens },
      {
        tokens: accounts.reduce((sum, { tokens }) => sum + tokens, 0),
        unknown_tokens: accounts.reduce((sum, account) => sum + account.unknown_tokens, 0),
      },
    ),
    ...compare(
      { ...event.metrics },
      {
        reward_mean: mean(ends.map(({ reward }) => reward)),
        f1_mean: mean(ends.map(({ f1 }) => f1)),
        em_mean: mean(ends.map(({ em }) => em)),
        format_mean: mean(ends.map(({ formatOk }) => (formatOk ? 1 : 0))),
        turns_mean: mean(ends.map(({ turns }) => turns)),
        tool_calls_mean: mean(ends.map(({ toolCalls }) => toolCalls)),
        staleness_mean: mean(totals),
        staleness_p95: [...totals].sort((a, b) => a - b)[Math.ceil(0.95 * totals.length) - 1] ?? 0,
        staleness_max: Math.max(0, ...totals),
        staleness_in_flight_mean: mean(accounts.map((account) => account.staleness_in_flight)),
        staleness_in_queue_mean: mean(accounts.map((account) => account.staleness_in_queue)),
        staleness_token_mean: tokens.mean,
        staleness_token_p95: tokens.p95,
        staleness_token_max: tokens.max,
      },
    ),
  ];
}

/** The learner's input, byte by byte: ids, attempts, rewards, advantages, and each decision. */
function batchHash(rows: readonly Read[]): string {
  const parts = rows.flatMap(({ row, winner }) => [
    Buffer.from(`${row.trajectory_id}\n`),
    doubles([row.attempt, winner.end?.reward ?? NaN, row.advantage]),
    ...turnsOf(winner).flatMap(({ decision, spans, reward }) =>
      decision === null ? [] : [decision.features, doubles([decision.chosen, decision.logprob, spans[0]?.version ?? -1, reward])],
    ),
  ]);
  return createHash('sha256').update(Buffer.concat(parts)).digest('hex');
}

function doubles(values: readonly number[]): Buffer {
  const bytes = new DataView(new ArrayBuffer(values.length * 8));
  values.forEach((value, i) => {
    bytes.setFloat64(i * 8, value, true);
  });
  return Buffer.from(bytes.buffer);
}

/** Checks that no trained token is older than the run allows, based on the records and not on what the step claims. */
export function checkStaleness({ steps, run, histories }: Case): { readonly worst: number; readonly problems: readonly TortureProblem[] } {
  const all = steps.flatMap(({ event }) =>
    event.trajectories.flatMap(({ trajectory_id: id, attempt: number }) => {
      const attempt = histories.get(id)?.attempts.get(number);
      return attempt === undefined ? [] : [{ id, step: event.step, worst: accountOf(attempt, event.version_before).staleness_worst }];
    }),
  );
  const limit = run === undefined || run.stale_policy === 'train' ? Infinity : run.max_staleness;
  const over = all
    .filter(({ worst }) => worst > limit)
    .map(({ id, step, worst }) => `step ${step}: ${id} is ${worst} versions old, ${limit} are allowed`);
  return { worst: all.reduce((worst, row) => Math.max(worst, row.worst), 0), problems: problemsOf('staleness', over) };
}

export function checkDiscards(of: Case): readonly TortureProblem[] {
  return problemsOf('discard', [
    ...of.discards.flatMap((discard) => {
      const where = `${discard.event.reason} discard of ${discard.event.trajectory_id}/${discard.event.attempt}`;
      return checkDiscard(of, discard).map((what) => `${where}: ${what}`);
    }),
    ...[...of.groups.values()].flatMap((group) => checkReasons(of, group)),
  ]);
}

function checkDiscard(of: Case, { event }: DiscardFact): readonly string[] {
  if (event.reason === 'expired') return checkExpired(of, event);
  if (event.reason === 'lost') return [...checkExpired(of, event), ...checkLost(of, event)];
  const history = of.histories.get(event.trajectory_id);
  const attempt = history?.attempts.get(event.attempt);
  if (attempt === undefined || history === undefined) return ['no record of it exists'];
  // a trainer that lost records may rightly discard an attempt of which the oracle knows all records
  if (isOfAttempt(event.reason) && of.touched.has(event.group_id)) return [];
  return [...compare({ ...event }, expectedRow(attempt, event.version)), ...checkReason(event, attempt, history)];
}

function checkReason(event: DiscardFact['event'], attempt: AttemptHistory, history: TrajectoryHistory): readonly string[] {
  if (isOfAttempt(event.reason)) return checkAttemptDiscard(event, attempt, history);
  if (!['uniform_group', 'stale', 'incomplete'].includes(event.reason)) return ['there is no such reason'];
  return history.winner?.number === event.attempt ? [] : ['it is not the attempt that counts'];
}

/** It was given up earlier, by an entry that says that there is no next attempt. */
function checkExpired({ facts }: Case, event: DiscardFact['event']): readonly string[] {
  const given = facts.training.some(
    ({ read }) =>
      read.type === 'TrajectoryExpired' &&
      read.event.trajectory_id === event.trajectory_id &&
      read.event.next_attempt < 0 &&
      read.event.sequence < event.sequence,
  );
  return given ? [] : ['its last attempt was not given up'];
}

/** No attempt can continue it: the log has lost one of its requests. */
function checkLost({ facts }: Case, event: DiscardFact['event']): readonly string[] {
  const gone = facts.gone.flatMap(({ tasks }) => tasks);
  const isOf = ({ read }: LogFact): boolean => read.type === 'TrajectoryRequested' && read.event.trajectory_id === event.trajectory_id;
  return gone.some(isOf) ? [] : ['its requests are in the log'];
}

function checkAttemptDiscard({ reason }: DiscardFact['event'], attempt: AttemptHistory, { winner }: TrajectoryHistory): readonly string[] {
  if (attempt.end === undefined) return ['it never ended'];
  if (winner?.number === attempt.number) return ['it is the attempt that counts'];
  return (reason === 'superseded') === isWhole(attempt) ? [] : [isWhole(attempt) ? 'it is whole' : 'it is not whole'];
}

/** The trajectory was given up: its last attempt expired, or its request was lost and could not be repeated. */
const isGivenUp = (reason: string): boolean => reason === 'expired' || reason === 'lost';

/** The reason of a discarded group must follow from its trajectories. */
function checkReasons(of: Case, group: GroupCase): readonly string[] {
  const final = group.discards.filter(({ event }) => !isOfAttempt(event.reason) && !isGivenUp(event.reason));
  const [first] = final;
  if (first === undefined) return [];
  const { reason, version } = first.event;
  if (group.trained.length > 0) return [`group ${group.id} was trained on, and ${reason} discards of it exist`];
  if (final.some(({ event }) => event.reason !== reason || event.version !== version))
    return [`group ${group.id} was discarded for several reasons`];
  const winners = final.flatMap(({ event }) => of.histories.get(event.trajectory_id)?.winner ?? []);
  const rewards = winners.map(({ end }) => end?.reward);
  const worst = Math.max(...winners.map((winner) => accountOf(winner, version).staleness_worst));
  const uniform = rewards.every((reward) => reward === rewards[0]);
  const holds: Readonly<Record<string, boolean>> = {
    incomplete: winners.length < 2,
    uniform_group: winners.length >= 2 && uniform,
    stale: winners.length >= 2 && !uniform && worst > (of.run?.max_staleness ?? 0),
  };
  return holds[reason] === true ? [] : [`group ${group.id} was discarded as ${reason}, which it is not`];
}
