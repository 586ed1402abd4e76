// Checks that every step agrees with the records: the attempts, their rewards, tokens and staleness, the advantages of their groups, the
// means of the batch and the hash of the learner's input.
import { createHash } from 'node:crypto';
import { gather, type Case, type StepFact, type TrainedFact } from './case.ts';
import { problemsOf, type TortureProblem } from './problem.ts';
import { accountOf, agesOf, summarise, turnsOf, type AttemptHistory } from './refold.ts';

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
    // the batch of an external trainer is its rows, whose hash is that of the lease
    ...(of.isExternal || batchHash(rows) === event.batch_sha256 ? [] : ['the hash of its batch is not that of the records']),
  ];
}

const differs = (is: number, should: number): boolean => !(Math.abs(is - should) <= 1e-9 * Math.max(1, Math.abs(should)));

/** Names of the figures that differ. */
export const compare = (is: Readonly<Record<string, unknown>>, should: Readonly<Record<string, number>>): readonly string[] =>
  Object.entries(should).flatMap(([name, value]) =>
    differs(Number(is[name]), value) ? [`${name} is ${String(is[name])}, the records give ${value}`] : [],
  );

function checkRow(row: TrainedAccount, winner: AttemptHistory, version: number): readonly string[] {
  if (row.attempt !== winner.number) return [`attempt ${row.attempt} is named, attempt ${winner.number} was the first that counts`];
  return compare({ ...row }, expectedRow(winner, version));
}

/** The figures of an attempt relative to a version, from its records. */
export function expectedRow(attempt: AttemptHistory, version: number): Readonly<Record<string, number>> {
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
  if (of.run?.algorithm !== 'reinforce' && rewards.every((reward) => reward === rewards[0]))
    return [`${rows[0]?.group_id ?? ''} has the same reward everywhere`];
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
