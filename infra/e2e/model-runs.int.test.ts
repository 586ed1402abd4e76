// A whole `turnstream up` with a language model over HTTP: one that keeps its weights, one that changes them, one that reports no version,
// and one that rejects requests. Each run ends by itself, with consistent counts and a sentence that explains the end.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeFactbookQuestions } from '../../producers/questions/write-questions.ts';
import type { RunSummary } from '../cli/status/run-summary.ts';
import { exitCodes } from '../app/exit-codes.ts';
import { startLlmServer, type LlmServer, type LlmScript } from '../testing/llm-server.ts';
import { sharedHome } from '../testing/shared-home.ts';
import { command, startUp, type TestHome } from '../testing/up.ts';

const [BATCH_GROUPS, GROUP_SIZE] = [2, 4];
/** More than the staleness limit: if batches counted as versions although the model stays the same, the last ones would be too stale. */
const FIXED_BATCHES = 8;

let home: TestHome;
let server: LlmServer;
let golds: ReadonlyMap<string, string>;

/** Half of the answers are correct, so that groups have a learning signal; two turns each. */
function answering(naming: 'chunks' | undefined): LlmScript {
  const named = naming === undefined ? {} : { naming };
  const asked = new Map<string, number>();
  return ({ prompt }) => {
    const question = [...golds.keys()].find((text) => prompt.includes(text)) ?? '';
    if (!prompt.includes('<information>\n'))
      return { kind: 'says', text: 'I look it up.</think> <search> capital </search> and', ...named };
    const times = (asked.get(question) ?? 0) + 1;
    asked.set(question, times);
    const text =
      times % 2 === 0 ? `Found.</think> <answer> ${golds.get(question) ?? ''} </answer>` : '</think> <answer> Atlantis </answer>';
    return { kind: 'says', text, ...named };
  };
}

beforeAll(async () => {
  server = await startLlmServer();
  const { accepted } = writeFactbookQuestions(1, { occurredAt: 1, producer: 'test' });
  golds = new Map(accepted.map(({ question, answers }) => [question, answers[0] ?? '']));
  home = await sharedHome({
    TURNSTREAM_API_PORT: '0',
    TURNSTREAM_POLICY: 'llm',
    TURNSTREAM_LLM_URL: server.url,
    TURNSTREAM_LLM_MODEL: 'm',
    TURNSTREAM_LLM_RETRIES: '0',
    TURNSTREAM_LLM_API: 'completions',
    TURNSTREAM_GROUP_SIZE: String(GROUP_SIZE),
    TURNSTREAM_BATCH_GROUPS: String(BATCH_GROUPS),
    TURNSTREAM_MAX_CONCURRENT: '4',
  });
}, 600_000);
afterAll(async () => {
  await home.remove();
  await server.close();
});

async function run(
  name: string,
  batches = 2,
): Promise<{ readonly code: number | null; readonly summary: RunSummary; readonly stderr: string }> {
  const process = startUp(home, ['--run', name, '--steps', String(batches), '--no-eval']);
  const code = await process.exit;
  const line = process.lines.find(({ event }) => event === 'summary');
  expect(line, process.stderr().slice(-3_000)).toBeDefined();
  return { code, summary: line as unknown as RunSummary, stderr: process.stderr() };
}

const rows = async (query: string): Promise<string> => (await command(home.env, 'sql', '--format', 'TSV', '-q', query)).out.trim();

describe('a run with a language model', { timeout: 900_000 }, () => {
  it.each([
    ['fixed', 'chunks', false, 7, 'The newest version that the model named is 7.', FIXED_BATCHES],
    ['changing', 'chunks', true, undefined, /The newest version that the model named is \d+\.$/, 2],
    ['unnamed', undefined, false, -1, 'The model named no version of its weights.', 2],
  ] as const)('ends by itself when the server is %s', async (...[name, naming, changes, version, says, batches]) => {
    const kept = batches * BATCH_GROUPS * GROUP_SIZE;
    const script = answering(naming);
    server.setVersion(7);
    server.setScript((request) => {
      if (changes) server.setVersion(Math.floor(request.index / 20));
      return script(request);
    });
    const { code, summary, stderr } = await run(name, batches);
    expect(code, stderr.slice(-2_000)).toBe(exitCodes.ok);
    expect(summary).toMatchObject({ state: 'finished', reason: 'collected', steps: 0, trajectories: 0 });
    expect(summary.collected).toMatchObject({ batches, trajectories: kept, reward_mean: 0.5 });
    expect(summary).toMatchObject({ reward_first_20: null, reward_all_first_20: null, reward_all_last_20: null });
    expect(summary.detail).toMatch(new RegExp(`^Collected ${batches} batches: kept ${kept} of \\d+ trajectories`));
    expect(summary.detail).toMatch(says);
    const verified = await command(home.env, 'ledger', 'verify', '--run', name);
    expect(verified.out).toMatch(new RegExp(`^ok .*0 steps, \\d+ admitted = 0 trained \\+ ${kept} collected \\+ \\d+ discarded`));
    expect(await rows(`select count() from policies where run_id = '${name}'`)).toBe('0');
    expect(await rows(`select count() from batches where run_id = '${name}'`)).toBe(String(batches));
    const named = await rows(`select min(policy_version_min), max(policy_version_max) from turns where run_id = '${name}'`);
    if (version !== undefined) expect(named).toBe(`${version}\t${version}`);
    else expect(Number(named.split('\t')[1])).toBeGreaterThan(Number(named.split('\t')[0]));
    expect((await command(home.env, 'status', '--run', name)).out).toContain(summary.detail);
  });

  it('stops asking a server that refuses, after one try per attempt, and says why', async () => {
    server.setScript(() => ({ kind: 'status', status: 401, body: '{"error": {"message": "no such key"}}' }));
    const before = server.seen().requests;
    const { code, summary } = await run('refused');
    expect(code).toBe(exitCodes.failed);
    expect(summary).toMatchObject({ reason: 'nothing_finished', collected: { trajectories: 0 } });
    expect(summary.detail).toMatch(/^Stopped asking: none of the last 16 groups finished\./);
    expect(await rows(`select groupUniqArray(attempt), any(error) from trajectories where run_id = 'refused'`)).toMatch(
      /^\[0\]\t.*HTTP 401.*no such key/,
    );
    expect(server.seen().requests - before).toBeLessThanOrEqual((16 + 2 * 4) * GROUP_SIZE);
  });
});
