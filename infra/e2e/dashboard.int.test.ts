// The dashboard in a real Chromium, over the real API and a store of its own.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { dashboardFolder } from '../app/package-folder.ts';
import { LONG_TURNS, longRun, longTrajectory, NEEDLE, SPIKE } from '../testing/dashboard-world.ts';
import { hasChromium, startJourneys } from '../testing/journeys.ts';

describe.skipIf(!hasChromium)('the dashboard', () => {
  const journey = startJourneys();
  const { open } = journey;
  const trajectory = `/runs/${longRun}/t/${longTrajectory}`;
  const selected = () => journey.page.locator('.turn-row[aria-selected=true] .number').first().innerText();

  it('leads from the runs to a run by keys alone', async () => {
    await open('/');
    await expect.poll(() => journey.page.locator('tbody tr').count()).toBe(2);
    await journey.page.keyboard.press('j');
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('.stats').waitFor();
    expect(journey.page.url()).toContain('/runs/');
    await journey.page.keyboard.press('g');
    await journey.page.keyboard.press('r');
    await journey.page.locator('h1', { hasText: 'Runs' }).waitFor();
  });

  it('says what its curves are, zooms, and opens the same zoom again', async () => {
    await open(`/runs/${longRun}`);
    await journey.page.getByText('1 point = 10 steps').waitFor();
    const box = await journey.page.locator('.u-over').first().boundingBox();
    if (box === null) throw new Error('the chart has no place');
    await journey.page.mouse.move(box.x + 20, box.y + 50);
    await journey.page.mouse.down();
    await journey.page.mouse.move(box.x + 60, box.y + 60, { steps: 4 });
    await journey.page.mouse.up();
    await journey.page.waitForURL(/from=\d+&to=\d+/);
    await journey.page.reload();
    await journey.page.locator('.chart').first().waitFor();
    await journey.page.getByText('Zoom out').waitFor();
  });

  it('loses no spike', async () => {
    const answer = await fetch(`${journey.world.url}/v1/runs/${longRun}/curves?points=300&series=reward_mean`);
    const { high, steps, first_steps } = (await answer.json()) as {
      high: { reward_mean: number[] };
      steps: number[];
      first_steps: number[];
    };
    expect(steps.length).toBeLessThanOrEqual(301);
    const at = steps.findIndex((step) => step >= SPIKE);
    expect(first_steps[at]).toBeLessThanOrEqual(SPIKE);
    expect(Math.max(...high.reward_mean)).toBe(high.reward_mean[at]);
    expect(high.reward_mean[at]).toBe(2.5);
  });

  it('filters trajectories in the address, and shows the fate of each', async () => {
    await open(`/runs/${longRun}/trajectories?min_reward=0.9`);
    await journey.page.locator('.row a').first().waitFor();
    await journey.page.locator('.chip[aria-pressed=true]', { hasText: 'reward ≥' }).waitFor();
    await journey.page
      .locator('.row', { hasText: /trained step \d+/ })
      .first()
      .waitFor();
    await journey.page.keyboard.press('j');
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('.turn-row').first().waitFor();
  });

  it('opens one turn of 30,000 by its link, and goes to the last by one key', async () => {
    await open(`${trajectory}?turn=${NEEDLE.turn}`);
    await expect.poll(selected).toBe(String(NEEDLE.turn));
    await journey.page.locator('.pane pre', { hasText: NEEDLE.word }).waitFor();
    await journey.page.keyboard.press('End');
    await expect.poll(selected).toBe(String(LONG_TURNS - 1));
    await journey.page.keyboard.press('e');
    await journey.page.locator('.pane .badge.bad').waitFor();
    expect(await journey.page.locator('*').count()).toBeLessThan(2_500);
    const before = await selected();
    await journey.page.reload();
    await expect.poll(selected).toBe(before);
  });

  it('finds a word in what is not drawn', async () => {
    await open(trajectory);
    await journey.page.keyboard.press('/');
    await journey.page.keyboard.type(NEEDLE.word);
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('.bar [role=status]', { hasText: '1 turn' }).waitFor();
    await journey.page.keyboard.press('n');
    await expect.poll(selected).toBe(String(NEEDLE.turn));
  });

  it('goes from a step to a trajectory and back to the step by its fate', async () => {
    await open(`/runs/${longRun}/steps/50`);
    await journey.page.getByText('Discarded meanwhile').waitFor();
    await journey.page.locator('tbody td a').first().click();
    await journey.page.locator('.fate a', { hasText: 'trained in step 50' }).click();
    await journey.page.locator('h1', { hasText: 'Step 50' }).waitFor();
    await journey.page.keyboard.press(']');
    await journey.page.locator('h1', { hasText: 'Step 51' }).waitFor();
  });

  it('runs the statement of a link', async () => {
    await open(`/sql?q=${encodeURIComponent("SELECT '<img src=x onerror=alert(1)>' AS text, 7 AS seven")}`);
    await journey.page.locator('td', { hasText: '<img src=x' }).waitFor();
    expect(await journey.page.locator('td img').count()).toBe(0);
  });

  it('says that no trajectory fits', async () => {
    await open(`/runs/${longRun}/trajectories?min_reward=9`);
    await journey.page.getByText('No trajectory fits these filters.').waitFor();
  });

  const pages = [
    '/',
    `/runs/${longRun}`,
    `/runs/${longRun}/trajectories`,
    `${trajectory}?turn=5`,
    `/runs/${longRun}/steps/50`,
    '/sql?q=SELECT+1',
  ];
  it.each(['light', 'dark'] as const)(
    'is accessible on every page when it is %s',
    async (colorScheme) => {
      await journey.page.emulateMedia({ colorScheme });
      for (const path of pages) {
        await open(path);
        expect(await journey.barriers(), path).toEqual([]);
      }
    },
    180_000,
  );

  it('stays within its bytes', () => {
    const files = readdirSync(join(dashboardFolder, 'assets'));
    const sizes = files.map((name) => gzipSync(readFileSync(join(dashboardFolder, 'assets', name)), { level: 9 }).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(110_000);
  });
});
