// What the pages do while the API is down for half a minute and events are still written to the log.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { LONG_TURNS, longRun, longTrajectory } from '../testing/dashboard-world.ts';
import { outgoing, randomEvent, seeded } from '../testing/events.ts';
import { hasChromium, startJourneys } from '../testing/journeys.ts';
import { turn } from '../testing/rollout-events.ts';

const AWAY_MS = 30_000;
const EVERY_MS = 1_000;
const LAST_STEP = 4_000;
const run = `/runs/${longRun}`;
const [overview, tail] = [run, `/live?run=${longRun}`];
const paths = [overview, `${run}/trajectories`, `${run}/t/${longTrajectory}?turn=${LONG_TURNS - 1}`, `${run}/flow`, tail];

const sign = (tab: Page) => tab.locator('.live.away, .badge.bad:has-text("away")').first();
const live = (tab: Page) => tab.locator('.live.live', { hasText: '●' }).first();
const lines = async (tab: Page): Promise<readonly string[]> => (await tab.locator('main').innerText()).split('\n');
const rows = (tab: Page): Promise<readonly string[]> => tab.locator('.tail-row a').allInnerTexts();

/** Waits for the parts of the overview that come from separate requests. */
async function untilWhole(tab: Page): Promise<void> {
  for (const text of ['Worst of the last step', 'Hatched: a tool outage']) await tab.getByText(text).first().waitFor();
}

describe.skipIf(!hasChromium)('the dashboard while the API is away for 30 s', () => {
  const journey = startJourneys();

  async function open(path: string): Promise<readonly [string, Page]> {
    const tab = await journey.browser.newPage({ viewport: { width: 1_280, height: 800 } });
    await tab.goto(`${journey.world.url}${path}`);
    await live(tab).waitFor();
    await expect.poll(() => tab.locator('.loading').count()).toBe(0);
    return [path, tab];
  }

  const write = async (number: number): Promise<string> => {
    const trajectory = `${longRun}-away${number}.0`;
    await journey.world.log.writer().append([outgoing('TurnRecorded', turn({ run: longRun, trajectory, sequence: 1 }, 1))]);
    return trajectory;
  };

  async function completeStep(step: number): Promise<void> {
    for (const [table, more] of Object.entries({ steps: `, ${step} as version_after`, step_figures: '' })) {
      const row = `select * replace (toInt32(${step}) as step${more}) from ${table} as last where run_id = '${longRun}' and last.step = ${LAST_STEP}`;
      await journey.world.store.command(`insert into ${table} ${row}`);
    }
    const event = randomEvent('StepCompleted', seeded(1), { run_id: longRun, step, version_before: step - 1, version_after: step });
    await journey.world.log.writer().append([outgoing('StepCompleted', event)]);
  }

  it('says so, keeps what it shows, and resumes by itself without gaps or duplicates', async () => {
    const tabs = new Map(await Promise.all(paths.map(open)));
    const of = (path: string): Page => tabs.get(path) ?? journey.page;
    await untilWhole(of(overview));
    const written = [await write(0)];
    await expect.poll(() => rows(of(tail))).toEqual(written);
    const before = new Map(await Promise.all([...tabs].map(async ([path, tab]) => [path, await lines(tab)] as const)));
    const start = await journey.world.loseApi();
    for (const tab of tabs.values()) await sign(tab).waitFor();
    for (const until = Date.now() + AWAY_MS; Date.now() < until;) {
      written.push(await write(written.length));
      await journey.page.waitForTimeout(EVERY_MS);
      for (const [path, tab] of tabs) {
        expect(await sign(tab).count()).toBe(1);
        expect(await lines(tab)).toEqual(expect.arrayContaining([...(before.get(path) ?? [])]));
      }
    }
    await completeStep(LAST_STEP + 1);
    // a proxy may be back before the API is
    await of(tail).route('**/v1/live*', (route) => route.fulfill({ status: 503 }), { times: 1 });
    await start();
    for (const tab of tabs.values()) await live(tab).waitFor();
    await expect.poll(async () => [...(await rows(of(tail)))].filter((row) => row.includes('away')).sort()).toEqual([...written].sort());
    const newest = of(overview).locator('tbody a[href*="/steps/"]').first();
    await expect.poll(() => newest.innerText()).toBe(String(LAST_STEP + 1));
    for (const [path, tab] of tabs) {
      if (path !== overview && path !== tail) expect(await lines(tab)).toEqual(expect.arrayContaining([...(before.get(path) ?? [])]));
      expect(await tab.locator('.state.failed').count()).toBe(0);
      await tab.close();
    }
  });
});
