// The dashboard in a real Chromium, over the real API and a store of its own.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { dashboardFolder } from '../app/package-folder.ts';
import {
  LONG_TURNS,
  longRun,
  longTrajectory,
  NEEDLE,
  SPIKE,
  startDashboardWorld,
  type DashboardWorld,
} from '../testing/dashboard-world.ts';

const executablePath = '/usr/bin/chromium';

describe.skipIf(!existsSync(executablePath))('the dashboard', () => {
  let world: DashboardWorld;
  let browser: Browser;
  let page: Page;
  /** What a page must never have: errors, reports of the policy, requests to another host. */
  let wrongs: string[];

  beforeAll(async () => {
    world = await startDashboardWorld();
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  }, 300_000);
  afterAll(async () => {
    await browser.close();
    await world.stop();
  });
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
    page.setDefaultTimeout(30_000);
    wrongs = [];
    page.on('pageerror', (error) => wrongs.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') wrongs.push(message.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(world.url) && !request.url().startsWith('data:')) wrongs.push(request.url());
    });
  });
  afterEach(async () => {
    await page.close();
    expect(wrongs).toEqual([]);
  });

  const open = async (path: string): Promise<void> => {
    await page.goto(`${world.url}${path}`);
    await page.locator('h1').first().waitFor();
    await expect.poll(() => page.locator('.loading').count()).toBe(0);
  };
  const trajectory = `/runs/${longRun}/t/${longTrajectory}`;
  const selected = () => page.locator('.turn-row[aria-selected=true] .number').first().innerText();

  it('leads from the runs to a run by keys alone', async () => {
    await open('/');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(2);
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.locator('.stats').waitFor();
    expect(page.url()).toContain('/runs/');
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.locator('h1', { hasText: 'Runs' }).waitFor();
  });

  it('says what its curves are, zooms, and opens the same zoom again', async () => {
    await open(`/runs/${longRun}`);
    await page.getByText('1 point = 10 steps').waitFor();
    const box = await page.locator('.u-over').first().boundingBox();
    if (box === null) throw new Error('the chart has no place');
    await page.mouse.move(box.x + 20, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + 60, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/from=\d+&to=\d+/);
    await page.reload();
    await page.locator('.chart').first().waitFor();
    await page.getByText('Zoom out').waitFor();
  });

  it('loses no spike', async () => {
    const answer = await fetch(`${world.url}/v1/runs/${longRun}/curves?points=300&series=reward_mean`);
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
    await page.locator('.row a').first().waitFor();
    await page.locator('.chip[aria-pressed=true]', { hasText: 'reward ≥' }).waitFor();
    await page
      .locator('.row', { hasText: /trained step \d+/ })
      .first()
      .waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.locator('.turn-row').first().waitFor();
  });

  it('opens one turn of 30,000 by its link, and goes to the last by one key', async () => {
    await open(`${trajectory}?turn=${NEEDLE.turn}`);
    await expect.poll(selected).toBe(String(NEEDLE.turn));
    await page.locator('.pane pre', { hasText: NEEDLE.word }).waitFor();
    await page.keyboard.press('End');
    await expect.poll(selected).toBe(String(LONG_TURNS - 1));
    await page.keyboard.press('e');
    await page.locator('.pane .badge.bad').waitFor();
    expect(await page.locator('*').count()).toBeLessThan(2_500);
    const before = await selected();
    await page.reload();
    await expect.poll(selected).toBe(before);
  });

  it('finds a word in what is not drawn', async () => {
    await open(trajectory);
    await page.keyboard.press('/');
    await page.keyboard.type(NEEDLE.word);
    await page.keyboard.press('Enter');
    await page.locator('.bar [role=status]', { hasText: '1 turn' }).waitFor();
    await page.keyboard.press('n');
    await expect.poll(selected).toBe(String(NEEDLE.turn));
  });

  it('goes from a step to a trajectory and back to the step by its fate', async () => {
    await open(`/runs/${longRun}/steps/50`);
    await page.getByText('Discarded meanwhile').waitFor();
    await page.locator('tbody a').first().click();
    await page.locator('.fate a', { hasText: 'trained in step 50' }).click();
    await page.locator('h1', { hasText: 'Step 50' }).waitFor();
    await page.keyboard.press(']');
    await page.locator('h1', { hasText: 'Step 51' }).waitFor();
  });

  it('runs the statement of a link', async () => {
    await open(`/sql?q=${encodeURIComponent("SELECT '<img src=x onerror=alert(1)>' AS text, 7 AS seven")}`);
    await page.locator('td', { hasText: '<img src=x' }).waitFor();
    expect(await page.locator('td img').count()).toBe(0);
  });

  it('says that no trajectory fits', async () => {
    await open(`/runs/${longRun}/trajectories?min_reward=9`);
    await page.getByText('No trajectory fits these filters.').waitFor();
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
      await page.emulateMedia({ colorScheme });
      for (const path of pages) {
        await open(path);
        await page.evaluate(axe.source);
        const found = await page.evaluate<string[]>(
          "axe.run().then(({ violations }) => violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => id + ' ' + nodes[0].html))",
        );
        expect(found, path).toEqual([]);
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
