// The budgets of the dashboard, with twice the room: other tests run beside it, so the best of a few tries counts.
import { chromium, type Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { overviewSpeed, scrollSpeed, seedZoomRun, trajectorySpeed, zoomSpeed, type SpeedFigure } from '../testing/dashboard-speed.ts';
import { startDashboardWorld, type DashboardWorld } from '../testing/dashboard-world.ts';
import { executablePath, hasChromium } from '../testing/journeys.ts';

const SLACK = 2;
const TIMES = 5;

/** What is over twice its budget even at its best. */
const over = (figures: readonly SpeedFigure[]): readonly string[] =>
  figures.flatMap((figure) => {
    const isMet = 'most' in figure ? Math.min(...figure.values) < SLACK * figure.most : Math.max(...figure.values) >= figure.least / SLACK;
    return isMet ? [] : [`${figure.what}: ${figure.values.map((value) => value.toFixed(1)).join(', ')} ${figure.unit}`];
  });

describe.skipIf(!hasChromium)('the speed of the dashboard', () => {
  let world: DashboardWorld;
  let browser: Browser;
  beforeAll(async () => {
    world = await startDashboardWorld({ freshMs: 200 });
    await seedZoomRun(world.store);
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  }, 300_000);
  afterAll(async () => {
    await browser.close();
    await world.stop();
  });

  it.each([
    ['overview', overviewSpeed],
    ['zoom', zoomSpeed],
    ['trajectory', trajectorySpeed],
    ['scroll', scrollSpeed],
  ] as const)(
    'is within twice the budget: %s',
    async (_page, speed) => {
      expect(over(await speed({ browser, url: world.url, times: TIMES }))).toEqual([]);
    },
    180_000,
  );
});
