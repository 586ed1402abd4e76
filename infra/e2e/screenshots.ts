// Takes the screenshots of the dashboard in the documentation, with the test data of dashboard-world.ts: `npm run screenshots [folder]`.
// Each page is taken wide and narrow, in the light and the dark theme.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { longRun, longTrajectory, NEEDLE, startDashboardWorld } from '../testing/dashboard-world.ts';
import { chromiumPath, hasChromium } from '../testing/journeys.ts';

const run = `/runs/${longRun}`;
const pages: Readonly<Record<string, string>> = {
  overview: run,
  trajectories: `${run}/trajectories?sort=reward&fate=trained`,
  trajectory: `${run}/t/${longTrajectory}?turn=${NEEDLE.turn}&find=${NEEDLE.word}`,
  flow: `${run}/flow`,
  tools: `${run}/tools`,
  dropped: `${run}/dropped`,
  sql: `/sql?view=chart&q=${encodeURIComponent(`SELECT step, reward_mean, f1_mean\nFROM steps WHERE run_id = '${longRun}' ORDER BY step`)}`,
};
/** Wait before a screenshot: charts and live data appear shortly after the responses. */
const SETTLED_MS = 1_000;
const themes = ['light', 'dark'] as const;
const screens = { '': { width: 1_280, height: 800 }, '-phone': { width: 390, height: 800 } } as const;

/** Takes a screenshot as WebP, which has a third of the bytes of a PNG. */
async function take(page: Page, file: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  await session.detach();
  await writeFile(file, Buffer.from(data, 'base64'));
}

async function takeAll(browser: Browser, url: string, folder: string): Promise<void> {
  for (const colorScheme of themes) {
    for (const [name, viewport] of Object.entries(screens)) {
      const page = await browser.newPage({ viewport, colorScheme });
      for (const [of, path] of Object.entries(pages)) {
        await page.goto(`${url}${path}`);
        await page.locator('h1').first().waitFor();
        await page.locator('.loading').first().waitFor({ state: 'detached' });
        await page.waitForTimeout(SETTLED_MS);
        const file = `dashboard-${of}${colorScheme === 'dark' ? '-dark' : ''}${name}.webp`;
        await take(page, join(folder, file));
        process.stdout.write(`${file}\n`);
      }
      await page.close();
    }
  }
}

const [folder = 'infra/docs/images'] = process.argv.slice(2);
if (!hasChromium) throw new Error(`there is no ${chromiumPath}: install Debian's chromium`);
await mkdir(folder, { recursive: true });
const world = await startDashboardWorld();
const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
try {
  await takeAll(browser, world.url, folder);
} finally {
  await browser.close();
  await world.stop();
}
