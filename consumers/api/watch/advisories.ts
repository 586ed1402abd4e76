// Advisories of a run, as rules over figures: a collapse of reward or entropy, staleness at its limit, a tool outage, uniform groups, a
// waiting trainer, tokens of unknown versions, a silent worker, and tables that lag behind the log. Alarms come first; advice for tuning is
// only given to a run without alarms.
import { incarnationOf } from '../../../streams/trajectory/worker-id.ts';
import type { RowOf } from '../columns.ts';
import { QUIET_MS } from './outages.ts';
import type { advisoryColumns, outageColumns } from './watch.columns.ts';

type AdvisoryRow = RowOf<typeof advisoryColumns>;
/** A finding is current unless `is_over` is set. */
type Finding = Omit<AdvisoryRow, 'is_over'> & { readonly is_over?: boolean };

export interface StepFigures {
  readonly step: number;
  readonly reward_mean: number | null;
  readonly entropy: number | null;
  readonly staleness_max: number | null;
  readonly unknown_tokens: number;
  readonly wait_ms: number | null;
  readonly train_ms: number | null;
  readonly trained: number;
  readonly discarded_stale: number;
  readonly discarded_uniform: number;
}

/** Figures of all steps, in windows of 20. */
export interface WholeRun {
  /** Number of steps. */
  readonly steps: number;
  /** The first window. */
  readonly first_from: number;
  readonly first_to: number;
  readonly first_entropy: number | null;
  /** The window with the highest mean reward, of those that end before the newest 20 steps. */
  readonly best_from: number;
  readonly best_to: number;
  readonly best_reward: number | null;
}

type Outage = RowOf<typeof outageColumns>;

export interface AdvisoryFacts {
  readonly run: string;
  readonly is_running: boolean;
  readonly max_staleness: number;
  /** In order of steps; at least the newest 20. */
  readonly steps: readonly StepFigures[];
  readonly whole: WholeRun;
  readonly outages: readonly Outage[];
  /** Tools that have not worked since their newest outage. */
  readonly still_out: readonly string[];
  /** End of the newest span with a call of a tool, ms since 1970; -Infinity if there is none. */
  readonly called_until_ms: number;
  /** Time of the newest heartbeat of each worker, ms since 1970. */
  readonly beats: readonly { readonly worker_id: string; readonly at_ms: number; readonly running: number }[];
  /** Heartbeats up to this time are in the tables, ms since 1970. */
  readonly heard_until_ms: number;
}

/** The input of the rule about lag. */
interface LagFacts extends Pick<AdvisoryFacts, 'run' | 'is_running'> {
  /** Records of the log that are not in the tables yet. */
  readonly behind: number;
  /** Age of the newest heartbeat in the tables, by the clock of the store; 0 if there is none. */
  readonly age_ms: number;
}

/** Number of steps in a window. */
export const RECENT = 20;
const FEWEST_STEPS = 60;
const SILENT_MS = 60_000;
/** Number of past outages that are reported. */
const PAST_OUTAGES = 3;

type AdvisoryRule = (facts: AdvisoryFacts) => readonly Finding[];

const mean = (values: readonly (number | null)[]): number | undefined => {
  const known = values.filter((value): value is number => value !== null);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length;
};
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const short = (value: number): string => String(Number(value.toPrecision(3)));
const share = (part: number): string => `${Math.round(part * 100)} %`;
const pageOf = (run: string, rest: string): string => `/runs/${run}${rest}`;
const sqlOf = (run: string, columns: string, more = 'ORDER BY step DESC LIMIT 100'): string =>
  `SELECT ${columns} FROM steps WHERE run_id = '${run}' ${more}`;

interface StepWindow {
  readonly from: number;
  readonly to: number;
}

function newestWindow(steps: readonly StepFigures[]): StepWindow {
  const recent = steps.slice(-RECENT);
  return { from: recent[0]?.step ?? 0, to: recent.at(-1)?.step ?? 0 };
}

const inWords = ({ from, to }: StepWindow): string => `steps ${from} to ${to}`;
const sqlOfWindows = (run: string, columns: string, windows: readonly StepWindow[]): string =>
  sqlOf(run, columns, `AND (${windows.map(({ from, to }) => `step BETWEEN ${from} AND ${to}`).join(' OR ')}) ORDER BY step`);

/** The mean over 20 steps fell below half of the best earlier one. */
const rewardCollapse: AdvisoryRule = ({ run, steps, whole }) => {
  const best = whole.best_reward;
  const now = mean(steps.slice(-RECENT).map((step) => step.reward_mean));
  if (whole.steps < FEWEST_STEPS || now === undefined || best === null || best < 0.05 || now >= best / 2) return [];
  const [recent, earlier] = [newestWindow(steps), { from: whole.best_from, to: whole.best_to }] as const;
  return [
    {
      rule: 'reward-collapse',
      severity: 'alarm',
      title: 'The reward collapsed',
      detail: `The mean of ${inWords(recent)} is ${short(now)}; that of ${inWords(earlier)} was ${short(best)}.`,
      page: pageOf(run, '/curves'),
      sql: sqlOfWindows(run, 'step, reward_mean', [earlier, recent]),
    },
  ];
};

const entropyCollapse: AdvisoryRule = ({ run, steps, whole }) => {
  const first = whole.first_entropy;
  const now = mean(steps.slice(-RECENT).map((step) => step.entropy));
  if (whole.steps < FEWEST_STEPS || now === undefined || first === null || first <= 0 || now >= first / 20) return [];
  const [recent, earlier] = [newestWindow(steps), { from: whole.first_from, to: whole.first_to }] as const;
  const detail = `The entropy of the policy in ${inWords(recent)} is ${short(now)}, ${share(now / first)} of the ${short(first)} in ${inWords(earlier)}, the first of the run: the policy hardly explores any more.`;
  return [
    {
      rule: 'entropy-collapse',
      severity: 'warning',
      title: 'The entropy collapsed',
      detail,
      page: pageOf(run, '/curves'),
      sql: sqlOfWindows(run, 'step, entropy', [earlier, recent]),
    },
  ];
};

const stalenessAtBound: AdvisoryRule = ({ run, steps, max_staleness }) => {
  const recent = steps.slice(-RECENT);
  const stale = sum(recent.map((step) => step.discarded_stale));
  const decided = stale + sum(recent.map((step) => step.trained + step.discarded_uniform));
  if (decided === 0 || stale / decided < 0.2) return [];
  const detail = `${share(stale / decided)} of the trajectories of the last ${recent.length} steps were discarded because their staleness exceeded the limit of ${max_staleness}.`;
  const sql = `SELECT reason, count() AS trajectories, avg(staleness_in_flight), avg(staleness_in_queue) FROM discarded_trajectories WHERE run_id = '${run}' GROUP BY reason`;
  return [{ rule: 'staleness-at-bound', severity: 'warning', title: 'Staleness is at its limit', detail, page: pageOf(run, '/flow'), sql }];
};

/**
 * True if the run is over, or a heartbeat is more than a minute newer than the end of the outage; more than ten minutes for a tool that has
 * not worked since, which may be called rarely. In a run without heartbeats, the calls of its tools stand for them.
 */
function isPast({ beats, is_running, called_until_ms, still_out }: AdvisoryFacts, { tool, to }: Outage): boolean {
  const until = beats.length === 0 ? called_until_ms : Math.max(...beats.map(({ at_ms }) => at_ms));
  return !is_running || until - Date.parse(to ?? '') > (still_out.includes(tool) ? QUIET_MS : SILENT_MS);
}

/** The current outages and the newest past ones, newest first. Only the newest outage of a tool can be current. */
function reportedOutages(facts: AdvisoryFacts): readonly { readonly outage: Outage; readonly isOver: boolean }[] {
  const newestFirst = [...facts.outages].sort((a, b) => Date.parse(b.to ?? '') - Date.parse(a.to ?? ''));
  const all = newestFirst.map((outage) => ({
    outage,
    isOver: newestFirst.find(({ tool }) => tool === outage.tool) !== outage || isPast(facts, outage),
  }));
  const past = all.filter(({ isOver }) => isOver).slice(0, PAST_OUTAGES);
  return all.filter((one) => !one.isOver || past.includes(one));
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;
const sqlTime = (time: string | null): string => `parseDateTime64BestEffort(${quoted(time ?? '')}, 3, 'UTC')`;

const toolOutage: AdvisoryRule = (facts) =>
  reportedOutages(facts).map(({ outage: { tool, from, to, calls, failed, usual_failure_rate }, isOver }) => {
    const detail = `${share(failed / calls)} of ${calls} calls failed between ${from ?? ''} and ${to ?? ''}; usual is ${share(usual_failure_rate ?? 0)}.`;
    const during = `occurred_at >= ${sqlTime(from)} AND occurred_at < ${sqlTime(to)}`;
    const sql = `SELECT error_type, count() AS calls, any(arguments) FROM tool_calls WHERE run_id = '${facts.run}' AND tool = ${quoted(tool)} AND status != 'ok' AND ${during} GROUP BY error_type ORDER BY calls DESC`;
    return {
      rule: 'tool-outage',
      severity: isOver ? 'warning' : 'alarm',
      title: `The tool ${tool} ${isOver ? 'was' : 'is'} out`,
      detail,
      is_over: isOver,
      page: pageOf(facts.run, '/tools'),
      sql,
    };
  });

const uniformGroups: AdvisoryRule = ({ run, steps }) => {
  const recent = steps.slice(-RECENT);
  const uniform = sum(recent.map((step) => step.discarded_uniform));
  const decided = uniform + sum(recent.map((step) => step.trained + step.discarded_stale));
  if (decided === 0 || uniform / decided < 0.5) return [];
  const detail = `${share(uniform / decided)} of the trajectories of the last ${recent.length} steps were in groups whose rewards are all equal, which teach nothing: the questions are too easy or too hard.`;
  const sql = `SELECT question_id, avg(reward) AS reward FROM discarded_trajectories WHERE run_id = '${run}' AND reason = 'uniform_group' GROUP BY question_id ORDER BY count() DESC LIMIT 100`;
  return [{ rule: 'uniform-groups', severity: 'warning', title: 'Most groups are uniform', detail, page: pageOf(run, '/questions'), sql }];
};

const trainerWaits: AdvisoryRule = ({ run, steps }) => {
  const recent = steps.slice(-RECENT);
  const [wait, train] = [mean(recent.map((step) => step.wait_ms)), mean(recent.map((step) => step.train_ms))];
  if (recent.length < RECENT || wait === undefined || train === undefined || wait < 4 * train || wait < 1_000) return [];
  const detail = `A step waits ${short(wait / 1_000)} s for its groups and trains for ${short(train / 1_000)} s: more workers make the run faster.`;
  return [
    {
      rule: 'trainer-waits',
      severity: 'advice',
      title: 'The trainer waits for rollouts',
      detail,
      page: pageOf(run, '/workers'),
      sql: sqlOf(run, 'step, wait_ms, train_ms'),
    },
  ];
};

const unknownVersions: AdvisoryRule = ({ run, steps }) => {
  const tokens = sum(steps.slice(-RECENT).map((step) => step.unknown_tokens));
  if (tokens === 0) return [];
  const detail = `The last ${RECENT} steps trained on ${tokens} tokens without a recorded policy version, so their staleness is unknown.`;
  const sql = sqlOf(run, 'step, unknown_tokens, tokens', 'AND unknown_tokens > 0 ORDER BY step DESC LIMIT 100');
  return [{ rule: 'unknown-versions', severity: 'warning', title: 'Versions are unknown', detail, page: pageOf(run, '/curves'), sql }];
};

/** The workers without those that a newer one replaced: a supervisor starts a replacement only after the previous worker has ended. */
function notReplaced(beats: AdvisoryFacts['beats']): AdvisoryFacts['beats'] {
  const newest = new Map<string, number>();
  for (const { worker_id } of beats) {
    const own = incarnationOf(worker_id);
    if (own !== undefined) newest.set(own.place, Math.max(own.number, newest.get(own.place) ?? 0));
  }
  return beats.filter(({ worker_id }) => {
    const own = incarnationOf(worker_id);
    return own === undefined || own.number === newest.get(own.place);
  });
}

const silentWorker: AdvisoryRule = ({ run, is_running, beats, heard_until_ms }) => {
  if (!is_running) return [];
  const until = Math.max(heard_until_ms, ...beats.map(({ at_ms }) => at_ms));
  return notReplaced(beats)
    .filter(({ at_ms, running }) => running > 0 && until - at_ms > SILENT_MS)
    .slice(0, 5)
    .map(({ worker_id, at_ms, running }) => {
      const silence = Math.round((until - at_ms) / 1_000).toLocaleString('en-US');
      const detail = `It has sent no heartbeat for ${silence} s; it was running ${running} trajectories.`;
      const sql = `SELECT worker_id, max(occurred_at) AS last FROM heartbeats WHERE run_id = '${run}' AND addressee = '' GROUP BY worker_id ORDER BY last`;
      return {
        rule: 'silent-worker',
        severity: 'warning',
        title: `The worker ${worker_id} is silent`,
        detail,
        page: pageOf(run, '/workers'),
        sql,
      };
    });
};

/** Number of records that the sink stores in a few seconds. Above this, the sink reports that it is catching up. */
const MANY_RECORDS = 20_000;
/** A backlog below this is normal. */
const FEW_RECORDS = 100;

/** Whether a backlog is larger than normal. */
export const isBehind = (records: number): boolean => records >= FEW_RECORDS;

/**
 * Warns that the tables lag behind the log: very many records are not stored yet, or the newest stored heartbeat is old although workers
 * send one every few seconds.
 */
export function adviseOnLag({ run, is_running, behind, age_ms }: LagFacts): readonly AdvisoryRow[] {
  if (!is_running || !isBehind(behind) || (behind < MANY_RECORDS && age_ms < SILENT_MS)) return [];
  const age = age_ms < 1_000 ? '' : `; the newest heartbeat in them is ${Math.round(age_ms / 1_000)} s old`;
  const detail = `${behind.toLocaleString('en-US')} records of the log are not in the tables yet${age}. The data shown for the run is out of date.`;
  const sql = `SELECT max(occurred_at) AS newest_stored, now64(3) AS now FROM heartbeats WHERE run_id = '${run}'`;
  const [title, page] = ['The tables are behind the log', pageOf(run, '/workers')];
  return [{ rule: 'consumer-lag', severity: 'warning', title, detail, is_over: false, page, sql }];
}

const rules: readonly AdvisoryRule[] = [
  ...[rewardCollapse, toolOutage, entropyCollapse, stalenessAtBound, uniformGroups, unknownVersions, silentWorker],
  trainerWaits,
];
const order = ['alarm', 'warning', 'advice'];

export const gravestFirst = (items: readonly AdvisoryRow[]): readonly AdvisoryRow[] =>
  [...items].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));

/** All findings, most severe first. */
export function adviseOn(facts: AdvisoryFacts): readonly AdvisoryRow[] {
  const found = rules.flatMap((rule) => rule(facts)).map((one) => ({ is_over: false, ...one }));
  const hasAlarm = found.some(({ severity }) => severity === 'alarm');
  return gravestFirst(found.filter(({ severity }) => severity !== 'advice' || !hasAlarm));
}
