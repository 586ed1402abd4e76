// Budgets of the dashboard's pages. Other programs may run meanwhile, so a time is measured until it is within twice its budget;
// `npm run bench:dashboard` measures all of them on an idle machine.
import { describe, expect, it } from 'vitest';
import {
  overviewSpeed,
  rectanglesOf,
  scrollSpeed,
  seedZoomRun,
  sizesOf,
  trajectorySpeed,
  zoomSpeed,
  type SpeedFigure,
} from '../testing/dashboard-speed.ts';
import { longRun, longTrajectory } from '../testing/dashboard-world.ts';
import { hasChromium, startJourneys } from '../testing/journeys.ts';

const SLACK = 2;
const trajectory = `/runs/${longRun}/t/${longTrajectory}`;

/** Figures that exceed their budget times the slack. */
const over = (figures: readonly SpeedFigure[], slack = 1): readonly string[] =>
  figures.flatMap((figure) => {
    const isMet = 'most' in figure ? Math.min(...figure.values) < slack * figure.most : Math.max(...figure.values) >= figure.least / slack;
    return isMet ? [] : [`${figure.what}: ${figure.values.map((value) => value.toFixed(1)).join(', ')} ${figure.unit}`];
  });

describe.skipIf(!hasChromium)('a run with a trajectory of 30,000 turns', () => {
  const journey = startJourneys();
  const once = () => ({ browser: journey.browser, url: journey.world.url, times: 1 });

  it('has few elements and uses little memory', async () => {
    await journey.open(trajectory);
    await journey.page.keyboard.press('End');
    expect(over(await sizesOf(journey.page))).toEqual([]);
  });

  it('is drawn once, no matter how far the reader scrolls', async () => {
    await journey.open(trajectory);
    const { page } = journey;
    const rows = page.locator('.turn-list .rows');
    await rows.hover();
    const rectangles = await rectanglesOf(page, async () => {
      for (let turn = 0; turn < 20; turn += 1) await page.mouse.wheel(0, 900);
      await expect.poll(() => rows.evaluate((element: { readonly scrollTop: number }) => element.scrollTop)).toBeGreaterThan(10_000);
    });
    // the minimap has a thousand bars
    expect(rectangles).toBeLessThan(20);
  });

  it('scrolls without a long task', async () => {
    await journey.open(trajectory);
    expect(over(await scrollSpeed(once()), SLACK)).toEqual([]);
  });

  it('shows the first rows, the last turn, and the turn that holds a text in time', async () => {
    await expect.poll(async () => over(await trajectorySpeed(once()), SLACK)).toEqual([]);
  });

  it('has an overview that opens in time, at first and again', async () => {
    await expect.poll(async () => over(await overviewSpeed(once(), { run: longRun, what: 'overview' }), SLACK)).toEqual([]);
  });

  it('has curves that zoom to other steps of 10,000 in time', async () => {
    await seedZoomRun(journey.world.store);
    await expect.poll(async () => over(await zoomSpeed(once()), SLACK)).toEqual([]);
  });
});
