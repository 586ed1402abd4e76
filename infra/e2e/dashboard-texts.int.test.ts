// What a page must never do with texts that models, tools, and web pages wrote; and the fate of samples against the ledger.
import { describe, expect, it } from 'vitest';
import { longRun } from '../testing/dashboard-world.ts';
import { hostileRun, hostileTexts, seedHostileRun } from '../testing/hostile-texts.ts';
import { hasChromium, startJourneys } from '../testing/journeys.ts';

describe.skipIf(!hasChromium)('the dashboard and its texts', () => {
  const journey = startJourneys();
  const { open } = journey;

  it('shows hostile texts as texts on every page: no script, no report of the policy, no other host', async () => {
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
      `/search?run=${hostileRun}&q=script&in=results`,
      `/sql?q=${encodeURIComponent(`SELECT text, tool, tool_arguments, tool_result FROM turns WHERE run_id = '${hostileRun}'`)}`,
    ];
    for (const path of paths) {
      await open(path);
      const made = await journey.page.evaluate<number>(
        "document.querySelectorAll('main script, main img, main iframe, main object, main [onerror], main [onload], main a[href^=javascript]').length",
      );
      expect([path, made, await journey.page.evaluate("'__hostile' in globalThis")]).toEqual([path, 0, false]);
    }
    // every one of them came through, as a text
    await open(paths.at(-1) ?? '');
    const shown = await journey.page.locator('.scroller').innerText();
    expect(shown).toContain('<script>');
    expect(shown).toContain('‹U+202E›');
    expect(hostileTexts).toHaveLength(200);
  }, 240_000);

  it('says the same fate as the ledger for 200 samples', async () => {
    const rows = await journey.world.store.query<{ id: string; step: number; reason: string }>(
      `select trajectory_id as id, step, reason from (
         select trajectory_id, step, '' as reason from step_trajectories where run_id = {run:String}
         union all
         select trajectory_id, toInt32(version + 1) as step, toString(reason) as reason from discarded_trajectories where run_id = {run:String}
       ) order by cityHash64(id) limit 200`,
      { params: { run: longRun } },
    );
    expect(rows).toHaveLength(200);
    await open(`/runs/${longRun}/steps/1`);
    for (const { id, step, reason } of rows.slice(0, 200)) {
      const url = `/runs/${longRun}/t/${encodeURIComponent(id)}`;
      await journey.page.evaluate<undefined>(`void (history.pushState(null, '', '${url}'), dispatchEvent(new PopStateEvent('popstate')))`);
      const wanted = reason === '' ? `trained in step ${step}` : `discarded: ${reason.replaceAll('_', ' ')}`;
      await journey.page
        .locator(`.head:has-text("${id}") ~ .fate, main:has-text("${id}") .fate`)
        .locator('li', { hasText: wanted })
        .first()
        .waitFor();
    }
  }, 240_000);
});

describe.skipIf(!hasChromium)('a dashboard with keys', () => {
  const key = 'reader-key-0123456789';
  const journey = startJourneys({ keys: [`${key}:read`], refusals: [401] });

  it('asks for a key once, then shows the runs, and takes no wrong one', async () => {
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
