// A store with runs that a dashboard can show: the short story, and a long run with a spike, discards, failing tools, and one
// trajectory of 30,000 turns. Run it to look at the pages: `npx tsx infra/testing/dashboard-world.ts <port>`.
import type { Store } from '../../streams/core/ports.ts';
import { readSite } from '../../consumers/dashboard/site.ts';
import { dashboardFolder } from '../app/package-folder.ts';
import { connectStore } from '../clickhouse/client.ts';
import { migrate } from '../clickhouse/migrate.ts';
import type { HttpServer } from '../http/server.ts';
import { tellStory } from './api-story.ts';
import { testApi } from './api.ts';
import { MemoryLog } from './memory-log.ts';
import { startTestStore, type TestStore } from './store.ts';

export const longRun = 'search-grpo-7b';
/** Step of the one spike. */
export const SPIKE = 1_777;
const STEPS = 4_000;
export const longTrajectory = `${longRun}-g000900.0`;
export const LONG_TURNS = 30_000;
/** The only turn of the long trajectory that contains the word. */
export const NEEDLE = { turn: 29_871, word: 'Ouagadougou' } as const;

const START = "toDateTime64('2026-11-20 08:00:00', 6, 'UTC')";
const wave = (salt: number): string => `((cityHash64(number, ${salt}) % 1000) / 1000)`;
const position = (topic: string): string => `'turnstream.${topic}' as _topic, 0 as _partition, number as _offset, ${START} as _timestamp`;

const named = (columns: Readonly<Record<string, string>>): string =>
  Object.entries(columns)
    .map(([name, sql]) => `${sql} as ${name}`)
    .join(', ');

async function insert(
  store: Store,
  table: string,
  { columns, rows, topic }: { columns: Readonly<Record<string, string>>; rows: number; topic: string | undefined },
): Promise<void> {
  const place = topic === undefined ? [] : ['_topic', '_partition', '_offset', '_timestamp'];
  const names = [...Object.keys(columns), ...place];
  await store.command(
    `insert into ${table} (${names.join(', ')}) select ${names.join(', ')} from (select ${named(columns)}${topic === undefined ? '' : `, ${position(topic)}`} from numbers(${rows}))`,
  );
}

const group = `concat('${longRun}-g', leftPad(toString(intDiv(number, 4)), 6, '0'))`;
const ofRun = { run_id: `'${longRun}'` };
const question =
  "arrayElement(['Which of the two countries that border both Lake Victoria and Burundi has the larger coastline?', 'In what year did the capital named after a river of the Volga basin become a city?', 'Which landlocked country has the highest share of renewable electricity in West Africa?'], number % 3 + 1)";

const stepColumns = {
  ...ofRun,
  ...{ step: 'toInt32(number + 1)', sequence: 'toInt64(number)', version_before: 'toInt32(number)', version_after: 'toInt32(number + 1)' },
  ...{ groups: '2', trajectories: '8', tokens: 'toInt64(9000 + 3000 * sin(number / 300))' },
  reward_mean: `if(number + 1 = ${SPIKE}, 2.5, 0.75 - 0.6 * exp(-number / 900) + 0.16 * (${wave(1)} - 0.5))`,
  f1_mean: `0.7 - 0.55 * exp(-number / 900) + 0.12 * (${wave(2)} - 0.5)`,
  turns_mean: `6 + 2 * sin(number / 500) + ${wave(3)}`,
  tool_calls_mean: `5 + ${wave(4)}`,
  loss: `0.02 * (${wave(5)} - 0.5)`,
  approx_kl: `0.004 * ${wave(6)}`,
  behave_kl: `0.006 * ${wave(7)}`,
  clip_fraction: `0.08 * ${wave(8)}`,
  ess: `6 + ${wave(9)}`,
  entropy: `1.4 * exp(-number / 2500) + 0.05 * ${wave(10)}`,
  grad_norm: `0.4 + 0.3 * ${wave(11)}`,
  staleness_mean: `0.6 + 0.5 * ${wave(12)}`,
  staleness_p95: '2',
  staleness_max: `toFloat64(1 + cityHash64(number, 13) % 4)`,
  staleness_in_flight_mean: `0.4 * ${wave(14)}`,
  staleness_in_queue_mean: `0.3 * ${wave(15)}`,
  ...{ unknown_tokens: '0', wait_ms: `900 * ${wave(16)}`, train_ms: `340 + 80 * ${wave(17)}` },
  ...{ batch_sha256: 'lower(hex(SHA256(toString(number))))', weights_sha256: "lower(hex(SHA256(concat('w', toString(number)))))" },
  ...{ previous_sha256: "lower(hex(SHA256(concat('p', toString(number)))))", at: `${START} + toIntervalSecond(number * 16 + 13)` },
};

const attemptColumns = {
  ...ofRun,
  ...{ group_id: group, trajectory_id: `concat(${group}, '.', toString(number % 4))`, attempt: '0', purpose: "'train'" },
  ...{ worker_id: "concat('worker-', toString(number % 6))", question_id: "concat('q-', toString(intDiv(number, 4) % 90))", question },
};

const attemptEnd = {
  answer: "arrayElement(['Tanzania', 'Samara', 'Burkina Faso'], number % 3 + 1)",
  status: "if(number % 31 = 0, 'max_turns', 'answered')",
  reward: `round(${wave(20)}, 2)`,
  f1: `round(${wave(20)}, 2)`,
  ...{
    format_ok: 'true',
    turns: `if(number = 3600, ${LONG_TURNS}, 2 + number % 9)`,
    tool_calls: '1 + number % 8',
    tool_errors: 'if(number % 7 = 0, 1, 0)',
  },
  ...{ prompt_tokens: '4000 + number % 900', completion_tokens: '300 + number % 700', version_first: 'toInt32(intDiv(number, 8))' },
  version_last: 'toInt32(intDiv(number, 8) + number % 3)',
  ...{ started_at: `${START} + toIntervalSecond(number * 2)`, finished_at: `${START} + toIntervalSecond(number * 2 + 9 + number % 50)` },
};

const turnColumns = (of: { readonly trajectory: string; readonly turn: string; readonly version: string }) => ({
  ...ofRun,
  ...{
    group_id: `'${longRun}-g000900'`,
    trajectory_id: of.trajectory,
    attempt: '0',
    turn: `toInt32(${of.turn})`,
    sequence: `toInt32(${of.turn} + 1)`,
  },
  ...{ purpose: "'train'", worker_id: "'worker-2'", question_id: "'q-0'", policy_version_min: of.version, policy_version_max: of.version },
  ...{
    policy_span_versions: `[${of.version}]`,
    policy_span_tokens: '[toInt32(40 + number % 30)]',
    prompt_tokens: '2000',
    completion_tokens: 'toInt32(40 + number % 30)',
  },
  ...{ generation_ms: `toFloat64(180 + number % 400)`, finish_reason: "'stop'" },
  text: `concat('I still need the length of the coastline. The page on ', arrayElement(['Tanzania', 'Kenya', 'Uganda'], number % 3 + 1), ' lists it under Geography, so I open that page next.', if(${of.turn} = ${NEEDLE.turn}, ' Not ${NEEDLE.word}.', ''))`,
  ...{ tool: "if(number % 3 = 0, 'search', 'access')", call_id: "concat('call-', toString(number))" },
  tool_status: "if(number % 97 = 5, 'timeout', if(number % 53 = 3, 'error', 'ok'))",
  tool_error_type: "if(tool_status = 'timeout', 'timeout', if(tool_status = 'error', 'not_found', ''))",
  tool_started_at: `${START} + toIntervalMillisecond(number * 1000 + 580)`,
  tool_ms: 'toFloat64(40 + number % 300)',
  tool_arguments: `if(number % 3 = 0, '{"query":"coastline length Tanzania Kenya"}', '{"url":"factbook://africa/tanzania"}')`,
  tool_result:
    "concat('# Tanzania\\n\\n## Geography\\n\\nCoastline: 1,424 km\\nArea: 947,300 sq km\\n\\n', repeat('The terrain is plains along the coast, a central plateau, and highlands in the north and south. ', 6))",
  ...{ tool_result_chars: 'toInt32(640)', reward: '0', occurred_at: `${START} + toIntervalMillisecond(number * 1000 + 990)` },
});

const account = {
  ...{ reward: `round(${wave(20)}, 2)`, tokens: '300 + number % 700', turns: '2 + number % 9' },
  ...{
    version_first: 'toInt32(intDiv(number, 8))',
    version_last: 'toInt32(intDiv(number, 8) + number % 3)',
    staleness_total: 'toInt32(number % 4)',
  },
  ...{
    staleness_in_flight: 'toInt32(number % 2)',
    staleness_in_queue: 'toInt32(number % 4 - number % 2)',
    staleness_worst: 'toInt32(number % 4)',
  },
  ...{ flight_ms: '9000 + number % 4000', queue_ms: 'number % 3000' },
};
const ids = {
  group_id: attemptColumns.group_id,
  trajectory_id: attemptColumns.trajectory_id,
  attempt: '0',
  question_id: attemptColumns.question_id,
};

const ofShort = (sql: string): string => sql.replaceAll('number', '(number % 8000)');
const shortTurnAt = `${START} + toIntervalSecond((number % 8000) * 2 + intDiv(number, 8000) * 3)`;
/** Three turns of every short trajectory, with an hour in which a third of the tool calls time out. */
const shortTurns = {
  ...turnColumns({
    trajectory: ofShort(attemptColumns.trajectory_id),
    turn: 'intDiv(number, 8000)',
    version: 'toInt32(intDiv(number % 8000, 8))',
  }),
  ...{ group_id: ofShort(attemptColumns.group_id), worker_id: ofShort(attemptColumns.worker_id) },
  tool_status:
    "if(number % 97 = 5 or (number % 8000 between 3000 and 4800 and number % 3 = 0), 'timeout', if(number % 53 = 3, 'error', 'ok'))",
  ...{ tool_started_at: `${shortTurnAt} + toIntervalMillisecond(580)`, occurred_at: `${shortTurnAt} + toIntervalMillisecond(990)` },
};

/** A task has no worker when it is requested. */
const asked = Object.fromEntries(Object.entries(attemptColumns).filter(([name]) => name !== 'worker_id'));

/** Fills the tables with the long run. */
export async function seedLongRun(store: Store): Promise<void> {
  const topics: Readonly<Record<string, string>> = { tasks: 'tasks', trajectories: 'rollouts', turns: 'rollouts' };
  const add = async (table: string, rows: number, columns: Readonly<Record<string, string>>) =>
    insert(store, table, { columns, rows, topic: topics[table] ?? 'training' });
  await add('run_events', 1, {
    ...ofRun,
    ...{
      event: "'started'",
      sequence: '0',
      seed: '7',
      algorithm: "'grpo'",
      backend: "'tensorflow'",
      group_size: '4',
      batch_groups: '2',
      max_staleness: '4',
    },
    ...{ max_concurrent: '48', max_attempts: '3', stale_policy: "'discard'", dataset: "'factbook-multihop'", steps: '5000', at: START },
  });
  await add('steps', STEPS, stepColumns);
  await insert(store, 'step_figures', {
    ...{ rows: STEPS, topic: undefined },
    columns: {
      ...{ ...ofRun, step: 'toInt32(number + 1)', trajectories: '8', reward_mean: stepColumns.reward_mean, f1_mean: stepColumns.f1_mean },
      ...{
        turns_mean: stepColumns.turns_mean,
        turns_p95: 'toInt32(10 + number % 3)',
        tokens_mean: `620 + 200 * ${wave(30)}`,
        tokens_p95: 'toInt64(1200 + number % 90)',
      },
    },
  });
  await add('tasks', 8_000, {
    ...asked,
    sample: 'toInt32(number % 4)',
    group_size: '4',
    occurred_at: `${START} + toIntervalSecond(number * 2 - 3)`,
  });
  await add('trajectories', 8_000, { ...attemptColumns, ...attemptEnd, occurred_at: attemptEnd.finished_at });
  const ofDiscard = {
    group_id: `concat('${longRun}-d', toString(intDiv(number, 4)))`,
    trajectory_id: `concat('${longRun}-d', toString(intDiv(number, 4)), '.', toString(number % 4))`,
  };
  await add('trajectories', 1_600, { ...attemptColumns, ...attemptEnd, ...ofDiscard, turns: '3', occurred_at: attemptEnd.finished_at });
  await add('step_trajectories', 8_000, {
    ...{
      ...ofRun,
      step: 'toInt32(intDiv(number, 8) + 1)',
      ...ids,
      ...account,
      advantage: `round(2 * (${wave(20)} - 0.5), 3)`,
      at: `${START} + toIntervalSecond((intDiv(number, 8) + 5) * 16 + 13)`,
    },
  });
  await add('discarded_trajectories', 1_600, {
    ...{
      ...ofRun,
      sequence: 'toInt64(number)',
      reason: "if(number % 3 = 0, 'stale', 'uniform_group')",
      version: 'toInt32(intDiv(number, 2))',
    },
    ...{
      ...ids,
      ...ofDiscard,
    },
    ...{ ...account, at: `${attemptEnd.finished_at} + toIntervalSecond(number % 20)` },
  });
  await add('policies', STEPS, {
    ...{ ...ofRun, version: 'toInt32(number + 1)', parent: 'toInt32(number)', weights_bytes: '4096' },
    occurred_at: `${START} + toIntervalSecond(number * 16 + 14)`,
  });
  await add('admissions', STEPS, {
    ...{ ...ofRun, sequence: 'toInt64(number * 4 + 1)', version: 'toInt32(number)', capacity: 'toInt32(cityHash64(number, 40) % 9)' },
    ...{ running: 'toInt32(40 + cityHash64(number, 41) % 9)', accepted: 'toInt64(number * 8)', max_concurrent: '48', max_staleness: '4' },
    ...{ batch_groups: '2', groups: 'toInt32(cityHash64(number, 42) % 3)', at: `${START} + toIntervalSecond(number * 16 + 15)` },
  });
  await add('heartbeats', 3_000, {
    ...{ ...ofRun, worker_id: "concat('worker-', toString(number % 6))", policy_version: 'toInt32(intDiv(number, 6) * 8)' },
    ...{ capacity: '8', running: 'toInt32(number % 9)', occurred_at: `${START} + toIntervalSecond(intDiv(number, 6) * 30)` },
  });
  await add('expired_attempts', 40, {
    ...{ ...ofRun, sequence: 'toInt64(number + 20000)', group_id: `concat('${longRun}-x', toString(number))` },
    ...{ trajectory_id: `concat('${longRun}-x', toString(number), '.0')`, attempt: '0', reason: "'silent'", next_attempt: '-1' },
    at: `${START} + toIntervalSecond(number * 200 + 90)`,
  });
  await add('trajectory_starts', 44, {
    ...{ ...ofRun, group_id: `concat('${longRun}-x', toString(number))`, trajectory_id: `concat('${longRun}-x', toString(number), '.0')` },
    ...{ attempt: '0', worker_id: "'worker-5'", purpose: "'train'", occurred_at: `${START} + toIntervalSecond(number * 200)` },
  });
  await add('turns', 24_000, shortTurns);
  const long = turnColumns({ trajectory: `'${longTrajectory}'`, turn: 'number + 3', version: 'toInt32(900 + intDiv(number, 4000))' });
  await add('turns', LONG_TURNS - 3, long);
}

export interface DashboardWorld {
  readonly url: string;
  readonly store: Store;
  readonly log: MemoryLog;
  readonly server: HttpServer;
  /** Stops the API. The returned function starts it again at the same address. */
  loseApi(): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

interface DashboardWorldOptions {
  readonly port?: number;
  readonly keys?: readonly string[];
  readonly freshMs?: number;
  readonly dashboardToken?: string;
  /** Stopped with the world. Default: a new one. */
  readonly engine?: TestStore;
  /** Whether there is only the short story. */
  readonly short?: boolean;
}

/** The real API with the dashboard that was built, over a store of its own. */
export async function startDashboardWorld(given: DashboardWorldOptions = {}): Promise<DashboardWorld> {
  const { engine = await startTestStore(), short = false, ...options } = given;
  const store = connectStore({ url: engine.url, database: 'turnstream' });
  await migrate(store);
  const log = new MemoryLog();
  await tellStory(log, store);
  if (!short) await seedLongRun(store);
  const site = await readSite(dashboardFolder);
  if (site === undefined) throw new Error('the dashboard is not built: npm run build');
  let server = await testApi({ store, log, site, ...options });
  const { url, port } = await server.listen();
  return {
    ...{ url, store, log, server },
    async loseApi() {
      await server.close();
      return async () => {
        server = await testApi({ store, log, site, ...options, port });
        await server.listen();
      };
    },
    async stop() {
      await server.close();
      await store.close();
      await engine.stop();
    },
  };
}

if (process.argv[1]?.endsWith('dashboard-world.ts') === true) {
  const world = await startDashboardWorld({ port: Number(process.argv[2] ?? 0) });
  process.stdout.write(`${world.url}\n`);
  process.once('SIGTERM', () => void world.stop());
  process.once('SIGINT', () => void world.stop());
}
