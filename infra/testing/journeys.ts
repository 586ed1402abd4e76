// A real Chromium over the real API and a store of its own, for journeys through the dashboard. A page that has an error, violates its
// security policy, or sends a request to another host fails its journey.
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { startDashboardWorld, type DashboardWorld } from './dashboard-world.ts';
import { startMigratedStore } from './migrated-store.ts';

export const chromiumPath = '/usr/bin/chromium';

/** Journeys are skipped where Debian's chromium is not installed; .ci/run says so. */
export const hasChromium = existsSync(chromiumPath);

export interface Journeys {
  readonly world: DashboardWorld;
  readonly page: Page;
  readonly browser: Browser;
  /** Opens a path and waits until nothing is loading. */
  readonly open: (path: string) => Promise<void>;
  /** Tolerates errors that contain one of these texts from now on. */
  readonly mayFail: (...texts: readonly string[]) => void;
  /** Serious accessibility findings of axe on the open page. */
  readonly barriers: () => Promise<readonly string[]>;
}

const SERIOUS =
  "axe.run().then(({ violations }) => violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => id + ' ' + nodes[0].html))";

interface JourneyOptions {
  readonly keys?: readonly string[];
  readonly dashboardToken?: string;
  /** Whether the short run of api-story.ts is enough. */
  readonly short?: boolean;
  /** Error statuses that a journey expects. */
  readonly refusals?: readonly number[];
}

/** Call it inside of a describe: it adds the hooks. */
export function startJourneys(options: JourneyOptions = {}): Journeys {
  let world: DashboardWorld | undefined;
  let browser: Browser | undefined;
  let page: Page | undefined;
  let wrongs: string[] = [];
  let meant: readonly string[] = [];
  const there = <T>(one: T | undefined): T => {
    if (one === undefined) throw new Error('the journey has not begun');
    return one;
  };
  beforeAll(async () => {
    const { refusals: _, ...shown } = options;
    world = await startDashboardWorld({ ...shown, engine: await startMigratedStore() });
    browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await world?.stop();
  });
  beforeEach(async () => {
    page = await there(browser).newPage({ viewport: { width: 1_280, height: 800 } });
    page.setDefaultTimeout(30_000);
    wrongs = [];
    meant = (options.refusals ?? []).map((status) => `status of ${status}`);
    page.on('pageerror', (error) => wrongs.push(error.message));
    page.on('console', (message) => {
      const isMeant = meant.some((text) => message.text().includes(text));
      if (message.type() === 'error' && !isMeant) wrongs.push(message.text());
    });
    page.on('dialog', (dialog) => {
      wrongs.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(there(world).url) && !request.url().startsWith('data:')) wrongs.push(request.url());
    });
  });
  afterEach(async () => {
    await page?.close();
    expect(wrongs).toEqual([]);
  });
  return {
    get world() {
      return there(world);
    },
    get page() {
      return there(page);
    },
    get browser() {
      return there(browser);
    },
    open: async (path) => {
      await there(page).goto(`${there(world).url}${path}`);
      await there(page).locator('h1').first().waitFor();
      await expect.poll(() => there(page).locator('.loading').count()).toBe(0);
    },
    mayFail: (...texts) => {
      meant = [...meant, ...texts];
    },
    barriers: async () => {
      await there(page).evaluate(axe.source);
      return there(page).evaluate<string[]>(SERIOUS);
    },
  };
}
