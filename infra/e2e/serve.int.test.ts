// Finished runs: `up` reports a finished run before anything starts, `serve` opens existing data, and a higher number of steps continues a
// finished run.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command, runProgram, startUp, testHome, type TestHome, type UpProcess } from '../testing/up.ts';

const quick = { TURNSTREAM_GROUP_SIZE: '4', TURNSTREAM_BATCH_GROUPS: '2', TURNSTREAM_LOG_LEVEL: 'error' };
const RUN = 'yesterday';

const listening = async (up: UpProcess): Promise<string> => String((await up.until(({ event }) => event === 'listening'))['url']);

async function answerOf(url: string): Promise<unknown> {
  await expect
    .poll(
      () =>
        fetch(url).then(
          ({ ok }) => ok,
          () => false,
        ),
      { timeout: 60_000 },
    )
    .toBe(true);
  return (await fetch(url)).json();
}

describe('a run of another day', () => {
  let home: TestHome;
  beforeAll(async () => {
    home = await testHome(quick);
    const up = startUp(home, ['--run', RUN, '--steps', '2', '--no-eval']);
    expect(await up.exit, up.stderr()).toBe(0);
  });
  afterAll(() => home.remove());

  it('that has finished is not started again: an error says so at once, and what to do instead', async () => {
    const from = performance.now();
    const { code, out, error } = await runProgram(home.env, 'up', '--run', RUN, '--steps', '2');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(error).toMatch(/finished after step 2\. `turnstream serve` opens it .*`turnstream up --run yesterday --steps 4` trains it on/);
    expect(error.trim().split('\n')).toHaveLength(1);
    // an idle machine takes half a second; a start would take many
    expect(performance.now() - from).toBeLessThan(10_000);
    expect(existsSync(join(home.dataDir, 'services.json'))).toBe(false);
  });

  it('is opened by `serve`, which trains nothing and ends at Ctrl-C', async () => {
    const serve = startUp(home, [], 'serve');
    const url = await listening(serve);
    await serve.until(({ event }) => event === 'serving');
    await answerOf(`${url}/readyz`);
    expect(await answerOf(`${url}/v1/runs/${RUN}`)).toMatchObject({ run_id: RUN, status: 'finished', steps: 2 });
    // the dashboard is part of it, and needs no account
    const page = await fetch(`${url}/runs/${RUN}`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(Object.keys(serve.services().processes).sort()).toEqual(['api', 'kafka', 'store', 'warehouse']);
    const status = JSON.parse((await command(home.env, 'status', '--json')).out) as Record<string, unknown>;
    expect(status).toMatchObject({ api: url, run: null, unanswered: [], runs: [{ run_id: RUN, state: 'finished' }] });
    const second = await runProgram(home.env, 'up', '--run', 'another');
    expect(second).toMatchObject({ code: 2, error: expect.stringMatching(/\(serve\) uses it already/) as string });
    serve.signal('SIGINT');
    expect(await serve.exit, serve.stderr()).toBe(0);
    expect(serve.lines.at(-1)).toMatchObject({ event: 'stopped' });
  });

  it('is continued with more steps, and is one run for verify, replay, and audit', async () => {
    const up = startUp(home, ['--run', RUN, '--steps', '4', '--no-eval']);
    expect(await up.exit, up.stderr()).toBe(0);
    expect(up.lines.at(-1)).toMatchObject({ event: 'summary', run_id: RUN, state: 'finished', steps: 4 });
    const verified = await command(home.env, 'ledger', 'verify', '--run', RUN, '--json');
    expect(JSON.parse(verified.out)).toMatchObject({ ok: true, steps: 4, finished: true, continued: 1, problems: [] });
    expect(await command(home.env, 'replay', '--run', RUN, '--all', '--train')).toMatchObject({ code: 0 });
    expect(await command(home.env, 'audit')).toMatchObject({ code: 0 });
    expect((await runProgram(home.env, 'up', '--run', RUN)).error).toContain('finished after step 4');
  });
});

describe('two clones on one machine', () => {
  it('serve side by side: the one that does not get the default port takes another and reports it', async () => {
    const homes = await Promise.all([testHome({ ...quick, TURNSTREAM_API_PORT: '' }), testHome({ ...quick, TURNSTREAM_API_PORT: '' })]);
    const clones = homes.map((home) => startUp(home, [], 'serve'));
    try {
      await Promise.all(clones.map(listening));
      const urls = (): ReadonlySet<string> => new Set(clones.map((clone) => clone.services().apiUrl));
      // both may have found the port free; the second one moves
      await expect.poll(() => urls().size, { timeout: 180_000 }).toBe(2);
      for (const [at, clone] of clones.entries()) {
        const home = homes[at];
        await expect.poll(async () => (await fetch(`${clone.services().apiUrl}/readyz`).catch(() => undefined))?.status).toBe(200);
        expect(JSON.parse((await command(home?.env ?? {}, 'status', '--json')).out)).toMatchObject({
          api: clone.services().apiUrl,
          unanswered: [],
        });
      }
    } finally {
      for (const clone of clones) clone.signal('SIGINT');
      await Promise.all(clones.map(({ exit }) => exit));
      await Promise.all(homes.map((home) => home.remove()));
    }
  });
});
