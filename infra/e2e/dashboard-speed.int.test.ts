// Costs of the dashboard's pages that do not depend on the load of the machine; `npm run bench:dashboard` measures the times.
import { describe, expect, it } from 'vitest';
import { rectanglesOf, scrollSpeed, sizesOf, type SpeedFigure } from '../testing/dashboard-speed.ts';
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

describe.skipIf(!hasChromium)('a trajectory of 30,000 turns', () => {
  const journey = startJourneys();

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
    expect(over(await scrollSpeed({ browser: journey.browser, url: journey.world.url, times: 1 }), SLACK)).toEqual([]);
  });
});
