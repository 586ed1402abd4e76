// A whole `turnstream up` with an external trainer: workers ask an engine that reports every token, and the trainer, in TypeScript and then
// in Python, claims the run through the API, reads rows, and commits. The rows have what the engine read and wrote, token by token.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { exitCodes } from '../app/exit-codes.ts';
import { Turnstream, type Batch, type Trainer, type TrainingRow } from '../clients/typescript/index.ts';
import { writeFactbookQuestions } from '../../producers/questions/write-questions.ts';
import { clientPython } from '../testing/client-python.ts';
import { sharedHome } from '../testing/shared-home.ts';
import { startTokenEngine, type TokenEngine } from '../testing/token-engine.ts';
import { cleanEnv, command, startUp, type TestHome, type UpProcess } from '../testing/up.ts';

const RUN = 'tokens';
const [STEPS, BY_TYPESCRIPT, BATCH_GROUPS, GROUP_SIZE] = [4, 2, 2, 4];
const ROWS = BATCH_GROUPS * GROUP_SIZE;
const ARROW = 'application/vnd.apache.arrow.stream';
let home: TestHome;
let engine: TokenEngine;
let version = 0;
let up: UpProcess;
let url: string;

/** Half of the answers are correct, so that groups have a learning signal; two turns each. */
function answering(golds: ReadonlyMap<string, string>): (call: number, prompt: string) => string {
  const asked = new Map<string, number>();
  return (_, prompt) => {
    const question = [...golds.keys()].find((text) => prompt.includes(text)) ?? '';
    if (!prompt.includes('<information>\n')) return 'I look it up.</think> <search> capital </search>';
    const times = (asked.get(question) ?? 0) + 1;
    asked.set(question, times);
    return `Seen ${times}.</think> <answer> ${times % 2 === 0 ? (golds.get(question) ?? '') : 'Atlantis'} </answer>`;
  };
}

beforeAll(async () => {
  const { accepted } = writeFactbookQuestions(1, { occurredAt: 1, producer: 'test' });
  const writes = answering(new Map(accepted.map(({ question, answers }) => [question, answers[0] ?? ''])));
  engine = await startTokenEngine({ dialect: 'vllm', writes, version: () => version });
  home = await sharedHome({
    TURNSTREAM_API_PORT: '0',
    TURNSTREAM_TRAINER: 'external',
    TURNSTREAM_POLICY: 'llm',
    TURNSTREAM_LLM_URL: engine.url,
    TURNSTREAM_LLM_MODEL: 'm',
    TURNSTREAM_LLM_API: 'completions',
    TURNSTREAM_LLM_TOKEN_IDS: 'true',
    TURNSTREAM_LLM_LOGPROBS: 'true',
    TURNSTREAM_LLM_LOGPROBS_KIND: 'processed',
    TURNSTREAM_LLM_TEMPERATURE: '0.5',
    TURNSTREAM_GROUP_SIZE: String(GROUP_SIZE),
    TURNSTREAM_BATCH_GROUPS: String(BATCH_GROUPS),
    TURNSTREAM_MAX_CONCURRENT: '4',
  });
  up = startUp(home, ['--run', RUN, '--steps', String(STEPS), '--no-eval']);
  await up.until(({ event, service }) => event === 'started' && service === 'api');
  url = up.services().apiUrl;
}, 600_000);
afterAll(async () => {
  up.signal('SIGKILL');
  await up.exit;
  await home.remove();
  await engine.close();
});

/** What the engine read and wrote, as text: each of its tokens is a character. */
const textOf = (ids: readonly number[]): string => String.fromCodePoint(...ids);
const callsOf = ({ calls }: TokenEngine): ReadonlySet<string> =>
  new Set(calls.map(({ promptIds, completionIds }) => JSON.stringify([textOf(promptIds), textOf(completionIds)])));

/** Checks each turn of a row: its prompt is everything before its sampled tokens. */
function expectEngine(row: TrainingRow, calls: ReadonlySet<string>): void {
  expect(row).toMatchObject({ trainable: true, why_not: '', temperature: 0.5, logprobs_kind: 'processed', branch: 0, turns: [0, 1] });
  const sampled = new Array<number>(row.token_ids.length).fill(0);
  for (const start of row.turn_starts) {
    const prompt = textOf(row.token_ids.slice(0, start));
    const found = [...calls].map((call) => JSON.parse(call) as [string, string]).filter(([asked]) => asked === prompt);
    const rest = textOf(row.token_ids.slice(start));
    const written = found.map(([, said]) => said).filter((said) => rest.startsWith(said));
    expect(written.length, prompt).toBeGreaterThan(0);
    sampled.fill(1, start, start + Math.max(...written.map((said) => Array.from(said).length)));
  }
  expect(row.mask).toEqual(sampled);
  expect(row.logprobs).toEqual(sampled.map((flag) => (flag === 1 ? -0.5 : 0)));
  const versions = row.version_spans.flatMap(({ version: one, tokens }) => new Array<number>(tokens).fill(one));
  expect(versions).toHaveLength(row.token_ids.length);
  versions.forEach((one, at) => {
    expect(one >= 0).toBe(sampled[at] === 1);
  });
}

function expectBatch(rows: readonly TrainingRow[]): void {
  const calls = callsOf(engine);
  expect(rows.map(({ row }) => row)).toEqual(Array.from({ length: ROWS }, (_, at) => at));
  for (const row of rows) expectEngine(row, calls);
  for (const group of new Set(rows.map(({ group_id: id }) => id))) {
    const own = rows.filter(({ group_id: id }) => id === group);
    expect(own).toHaveLength(GROUP_SIZE);
    expect(own.reduce((sum, { advantage }) => sum + advantage, 0)).toBeCloseTo(0);
    for (const { reward, advantage } of own) expect(Math.sign(advantage)).toBe(reward > 0.5 ? 1 : -1);
  }
}

/** Requests the same rows in other ways: as ranges, as shards, and conditionally. */
async function expectSameRows({ lease }: Batch, rows: readonly TrainingRow[]): Promise<void> {
  const href = `${url}${lease.data.href}`;
  const get = (headers: Record<string, string>, query = ''): Promise<Response> => fetch(`${href}${query}`, { headers });
  const arrow = await get({ accept: ARROW });
  expect(arrow.headers.get('content-type')).toBe(ARROW);
  const whole = Buffer.from(await arrow.arrayBuffer());
  const part = await get({ accept: ARROW, range: 'bytes=100-299' });
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 100-299/${whole.length}`]);
  expect(Buffer.from(await part.arrayBuffer()).equals(whole.subarray(100, 300))).toBe(true);
  const etag = arrow.headers.get('etag') ?? '';
  expect(etag).toContain(lease.batch_sha256);
  expect((await get({ accept: ARROW, 'if-none-match': etag })).status).toBe(304);
  const shards = await Promise.all([0, 1, 2].map(async (at) => (await get({}, `?shard=${at}/3`)).text()));
  const lines = shards.flatMap((text) => text.split('\n').slice(0, -1));
  expect(lines.map((line) => JSON.parse(line) as TrainingRow)).toEqual(rows);
  expect(lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)).toBe(lease.bytes);
  expect((await get({}, '?shard=3/3')).status).toBe(400);
  expect((await get({ range: `bytes=${lease.bytes}-` })).status).toBe(416);
}

async function trainOnce(trainer: Trainer): Promise<void> {
  const batch = await trainer.lease(60_000);
  if (batch === undefined) throw new Error('there is nothing to lease');
  expect(batch.lease).toMatchObject({ rows: ROWS, data: { formats: ['arrow', 'ndjson'], shards: 1 } });
  const rows: TrainingRow[] = [];
  for await (const row of batch.rows()) rows.push(row);
  expectBatch(rows);
  await expectSameRows(batch, rows);
  const { step } = batch.lease;
  const policy = { uri: `file:///w/${step}`, sha256: String(step).padStart(64, '0'), format: 'hf-safetensors' };
  const committed = await batch.commit({ policy, metrics: { loss: 0.25 } });
  expect(committed).toMatchObject({ step, version: step, replayed: false });
  version = committed.version;
}

interface PythonStep {
  readonly step: number;
  readonly rows: readonly TrainingRow[];
  readonly lines: readonly TrainingRow[];
  readonly trained: readonly number[];
}

async function trainInPython(lineage: string): Promise<readonly PythonStep[]> {
  const child = spawn(clientPython, [join('infra', 'e2e', 'external-trainer.py'), url, RUN, lineage, String(STEPS)], { env: cleanEnv({}) });
  let [out, error] = ['', ''];
  child.stdout.on('data', (part: Buffer) => (out += part.toString()));
  child.stderr.on('data', (part: Buffer) => (error += part.toString()));
  const code = await new Promise((done) => child.once('close', done));
  expect(code, error).toBe(0);
  return out
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as PythonStep);
}

describe('a run with an external trainer', { timeout: 600_000 }, () => {
  it('is trained on the tokens of the engine, in TypeScript and in Python, and can be verified', async () => {
    const trainer = await claim();
    const steps = existsSync(clientPython) ? BY_TYPESCRIPT : STEPS;
    for (let made = 0; made < steps; made += 1) await trainOnce(trainer);
    for (const { rows, lines, trained } of existsSync(clientPython) ? await trainInPython(trainer.lineage) : []) {
      expectBatch(rows);
      expect(lines).toEqual(rows);
      expect(trained).toEqual(rows.map(({ mask }) => mask.reduce((sum, flag) => sum + flag, 0)));
    }
    expect(await up.exit, up.stderr().slice(-2_000)).toBe(exitCodes.ok);

    const verified = await command(home.env, 'ledger', 'verify', '--run', RUN);
    expect(verified, verified.error).toMatchObject({ code: 0 });
    expect(verified.out).toMatch(new RegExp(`^ok .*${STEPS} steps`));
    const audited = await command(home.env, 'audit');
    expect(audited, audited.error).toMatchObject({ code: 0 });
    const replayed = await command(home.env, 'replay', '--run', RUN, '--all', '--train');
    expect(replayed, replayed.error).toMatchObject({ code: 0 });
    expect(replayed.error).toContain('were not repeated');
    const exported = await command(home.env, 'export', '--run', RUN, '--what', 'rows', '--format', 'jsonl');
    const lines = exported.out.split('\n').slice(0, -1);
    const calls = callsOf(engine);
    expect(lines.length).toBeGreaterThanOrEqual(STEPS * ROWS);
    for (const line of lines) expectEngine(JSON.parse(line) as TrainingRow, calls);
  });
});

/** Claims the run as soon as it is up. */
const claim = (): Promise<Trainer> => vi.waitFor(() => new Turnstream({ url }).run(RUN).trainer('ts'), { timeout: 60_000, interval: 100 });
