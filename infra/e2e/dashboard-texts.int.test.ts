// Untrusted texts of models, tools, and web pages must stay plain text; and the fates of samples must agree with the ledger.
import { describe, expect, it } from 'vitest';
import { storyRun } from '../testing/api-story.ts';
import { seedRetries } from '../testing/dashboard-ledger.ts';
import { longRun } from '../testing/dashboard-world.ts';
import { hostileEvaluation, hostileRun, hostileTexts, hostileTool, seedHostileRun } from '../testing/hostile-texts.ts';
import { linkWithTicket } from '../http/tickets.ts';
import { outgoing } from '../testing/events.ts';
import { turn } from '../testing/rollout-events.ts';
import { hasChromium, startJourneys } from '../testing/journeys.ts';

const allColumns = 'reward,status,fate,answer,worker_id,group_id,question_id,id';

describe.skipIf(!hasChromium)('the dashboard and its texts', () => {
  const journey = startJourneys();
  const { open } = journey;

  it('shows hostile texts as plain text on every page: no script, no CSP violation, no request to another host', async () => {
    await seedHostileRun(journey.world.store);
    await journey.page.addInitScript(
      "addEventListener('securitypolicyviolation', (event) => console.error('policy', event.violatedDirective))",
    );
    const run = `/runs/${hostileRun}`;
    const trajectory = encodeURIComponent(`${hostileRun}-g0.0`);
    const paths = [
      ...['/', run, `${run}/trajectories`, `${run}/flow`, `${run}/tools`, `${run}/workers`, `${run}/questions`, `${run}/dropped`],
      ...[`${run}/advisories`, `${run}/groups/${hostileRun}-g0`, `${run}/questions/${hostileRun}-q0`, '/dead-letters', '/evaluations'],
      ...[`${run}/t/${trajectory}?turn=0`, `${run}/t/${trajectory}?turn=1&find=script`, `/search?run=${hostileRun}&q=script`],
      ...[
        `/search?run=${hostileRun}&q=script&in=results`,
        `${run}/t/${trajectory}?turn=0&view=raw`,
        `${run}/t/${trajectory}?turn=0&view=tokens`,
      ],
      ...[`${run}/t/${trajectory}?turn=0&view=waterfall`, `${run}/steps`, `${run}/steps/1`, `${run}/ledger`, `${run}/curves`],
      ...[`/compare?runs=${hostileRun},${longRun}`, `/evaluations/${hostileEvaluation}`, `${run}/tools/${encodeURIComponent(hostileTool)}`],
      ...[`${run}/diff?a=${trajectory}%230&b=${encodeURIComponent(`${hostileRun}-g0.1`)}%230`, `${run}/trajectories?columns=${allColumns}`],
      `/sql?q=${encodeURIComponent(`SELECT text, tool, tool_arguments, tool_result FROM turns WHERE run_id = '${hostileRun}'`)}`,
    ];
    for (const path of paths) {
      await open(path);
      const made = await journey.page.evaluate<number>(
        "document.querySelectorAll('main script, main img, main iframe, main object, main [onerror], main [onload], main a[href^=javascript]').length",
      );
      expect([path, made, await journey.page.evaluate("'__hostile' in globalThis")]).toEqual([path, 0, false]);
    }
    await journey.page.goto(`${journey.world.url}/live`);
    await journey.page.locator('.live', { hasText: '●' }).waitFor();
    const events = hostileTexts
      .slice(0, 60)
      .map((words, sequence) =>
        outgoing('TurnRecorded', { ...turn({ run: hostileRun, trajectory: words, sequence }, 1), worker_id: words, tool: words }),
      );
    await journey.world.log.writer().append(events);
    await expect.poll(() => journey.page.locator('.tail-row').count()).toBeGreaterThan(10);
    expect(await journey.page.evaluate("'__hostile' in globalThis")).toBe(false);
    // every text was displayed
    await open(paths.at(-1) ?? '');
    const shown = await journey.page.locator('.scroller').innerText();
    expect(shown).toContain('<script>');
    expect(shown).toContain('‹U+202E›');
    expect(hostileTexts).toHaveLength(200);
  }, 240_000);

  it('shows the same fate as the ledger for 200 samples, including attempts that were given up and repeated', async () => {
    await seedRetries(journey.world.store);
    const rows = await journey.world.store.query<{ id: string; attempt: number; step: number; fate: string; reason: string }>(
      `select * from (
         select trajectory_id as id, attempt, step, 'trained' as fate, '' as reason, 0 as kind from step_trajectories where run_id = {run:String}
         union all
         select trajectory_id, attempt, toInt32(version + 1), 'discarded', toString(reason), 1 from discarded_trajectories where run_id = {run:String}
         union all
         select trajectory_id, attempt, toInt32(-1), 'given up', toString(reason), 2 from expired_attempts
           where run_id = {run:String} and trajectory_id in (select trajectory_id from trajectories where run_id = {run:String})
       ) order by attempt = 0 and kind < 2, kind, cityHash64(id) limit 60 by attempt > 0, kind limit 200`,
      { params: { run: longRun } },
    );
    expect(rows).toHaveLength(200);
    expect(rows.filter(({ attempt }) => attempt > 0).length).toBeGreaterThan(50);
    expect(new Set(rows.map(({ fate }) => fate))).toEqual(new Set(['trained', 'discarded', 'given up']));
    await open(`/runs/${longRun}/steps/1`);
    for (const { id, attempt, step, fate, reason } of rows) {
      const url = `/runs/${longRun}/t/${encodeURIComponent(id)}?attempt=${attempt}`;
      await journey.page.evaluate<undefined>(`void (history.pushState(null, '', '${url}'), dispatchEvent(new PopStateEvent('popstate')))`);
      const wanted = { trained: `trained in step ${step}`, discarded: `discarded: ${reason.replaceAll('_', ' ')}` }[fate] ?? fate;
      const stations = journey.page.locator(`main:has-text("${id}") .fate`);
      await stations.locator('li', { hasText: wanted }).first().waitFor();
      if (fate !== 'trained') expect(await stations.innerText()).not.toContain('trained in step');
    }
  }, 240_000);
});

describe.skipIf(!hasChromium)('a dashboard with keys', () => {
  const key = 'reader-key-0123456789';
  const journey = startJourneys({ keys: [`${key}:read`], refusals: [401], short: true });

  it('has an accessible sign-in page', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await journey.page.emulateMedia({ colorScheme });
      await journey.page.goto(`${journey.world.url}/`);
      await journey.page.locator('input[type=password]').waitFor();
      expect(await journey.barriers()).toEqual([]);
    }
  });

  it('asks for a key once, then shows the runs, and rejects a wrong key', async () => {
    await journey.page.goto(`${journey.world.url}/`);
    await journey.page.locator('input[type=password]').fill('wrong-key-0123456789');
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('[role=alert]').first().waitFor();
    await journey.page.locator('input[type=password]').fill(key);
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('tbody tr').first().waitFor();
    expect(await journey.page.evaluate<string>('document.cookie')).toBe('');
    await journey.page.reload();
    await journey.page.locator('tbody tr').first().waitFor();
    expect(journey.page.url()).not.toContain(key);
  });
});

describe.skipIf(!hasChromium)('a dashboard with a token', () => {
  const token = 'token-of-the-dashboard-1';
  const journey = startJourneys({ dashboardToken: token, refusals: [401], short: true });

  it('signs in with a single-use link, and removes the ticket from the address', async () => {
    const link = linkWithTicket(`${journey.world.url}/runs/${storyRun}/steps`, token).replace('steps/?', 'steps?');
    await journey.page.goto(link);
    await journey.page.locator('tbody tr').first().waitFor();
    expect(journey.page.url()).toBe(`${journey.world.url}/runs/${storyRun}/steps`);
    expect(await journey.page.evaluate<string>('document.cookie')).toBe('');
    await journey.page.context().clearCookies();
    await journey.page.goto(link);
    await journey.page.locator('input[type=password]').fill(token);
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('tbody tr').first().waitFor();
  });
});
