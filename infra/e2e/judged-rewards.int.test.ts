// A run whose reward is the verdict of a language model: it trains on verdicts in the log, and its replay from the log is identical bit for
// bit after the judge is gone.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JUDGE_PROMPT_SHA256 } from '../../streams/reward/judge-prompt.ts';
import { startLlmServer, type LlmServer } from '../testing/llm-server.ts';
import { sharedHome } from '../testing/shared-home.ts';
import { command, startUp, type TestHome } from '../testing/up.ts';

const RUN = 'judged';
let home: TestHome;
let server: LlmServer;

beforeAll(async () => {
  server = await startLlmServer(({ index }) => ({
    kind: 'says',
    // every third reply is useless, and is retried
    text: index % 3 === 0 ? 'Let me think.' : `{"rationale": "r", "judgement": "${index % 2 === 0 ? 'correct' : 'incorrect'}"}`,
    naming: 'chunks',
  }));
  server.setVersion(5);
  home = await sharedHome({
    TURNSTREAM_API_PORT: '0',
    TURNSTREAM_REWARD_JUDGE: '0.5',
    TURNSTREAM_JUDGE_URL: server.url,
    TURNSTREAM_JUDGE_MODEL: 'judge-7b',
    TURNSTREAM_GROUP_SIZE: '4',
    TURNSTREAM_BATCH_GROUPS: '2',
    TURNSTREAM_MAX_CONCURRENT: '4',
  });
}, 600_000);
afterAll(async () => {
  await home.remove();
});

const rows = async (query: string): Promise<string> => (await command(home.env, 'sql', '--format', 'TSV', '-q', query)).out.trim();

describe('a run with a judge in its reward', { timeout: 900_000 }, () => {
  it('trains on verdicts that are in the log, and is replayed without the judge', async () => {
    const up = startUp(home, ['--run', RUN, '--steps', '2', '--no-eval']);
    expect(await up.exit, up.stderr().slice(-2_000)).toBe(0);
    await server.close();

    const judged = `from trajectories where run_id = '${RUN}' and judge != ''`;
    expect(Number(await rows(`select count() ${judged}`))).toBeGreaterThanOrEqual(16);
    expect(await rows(`select distinct judge, judge_version, judge_prompt_sha256 ${judged}`)).toBe(`judge-7b\t5\t${JUDGE_PROMPT_SHA256}`);
    expect(await rows(`select arraySort(groupUniqArray(verdict)) ${judged} and status = 'answered'`)).toBe("['correct','incorrect']");
    const wrong = `abs(reward - (0.5 * f1 + 0.5 * (verdict = 'correct'))) > 1e-9 and status = 'answered' and format_ok`;
    expect(await rows(`select countIf(${wrong}), countIf(judge_tries > 1) > 0 ${judged}`)).toBe('0\t1');
    expect(await rows(`select settings from run_events where run_id = '${RUN}' and event = 'started'`)).toContain(JUDGE_PROMPT_SHA256);

    const replayed = await command(home.env, 'replay', '--run', RUN, '--all', '--train', '--json');
    expect(replayed, replayed.error).toMatchObject({ code: 0 });
    expect(JSON.parse(replayed.out.trimEnd().split('\n').at(-1) ?? '')).toEqual({ run: RUN, steps: 2, differing: 0, ok: true });
  });
});
