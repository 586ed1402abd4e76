// Size does not slow the dashboard's pages down: a long run opens about as fast as a run of a few steps on the same machine, which may be
// slow. Times on a page that is open are measured until they are within twice their budgets. `npm run bench:dashboard` compares all times
// with their budgets.
import { describe, expect, it } from 'vitest';
import { storyRun } from '../testing/api-story.ts';
import {
  chartsSpeed,
  firstRowsSpeed,
  median,
  openTrajectorySpeed,
  rectanglesOf,
  scrollSpeed,
  seedZoomRun,
  sizesOf,
  untilWhole,
  zoomSpeed,
  type OpenedTimes,
  type SpeedFigure,
} from '../testing/dashboard-speed.ts';
import { longRun, longTrajectory } from '../testing/dashboard-world.ts';
import { hasChromium, startJourneys } from '../testing/journeys.ts';

const SLACK = 2;
/** How many times as long as a run of a few steps a long run may take. */
const MOST_TIMES = 3;
const PAIRS = 3;
const trajectory = `/runs/${longRun}/t/${longTrajectory}`;

/** Figures that exceed their budget times the slack. */
const over = (figures: readonly SpeedFigure[], slack = 1): readonly string[] =>
  figures.flatMap((figure) => {
    const isMet = 'most' in figure ? Math.min(...figure.values) < slack * figure.most : Math.max(...figure.values) >= figure.least / slack;
    return isMet ? [] : [`${figure.what}: ${figure.values.map((value) => value.toFixed(1)).join(', ')} ${figure.unit}`];
  });

/** How many times as long as the other page a page takes: the median of pairs, each of which sees the same machine. */
async function timesAsLong(page: () => Promise<OpenedTimes>, other: () => Promise<OpenedTimes>): Promise<number> {
  const msOf = async (opening: () => Promise<OpenedTimes>): Promise<number> => {
    const { cold, warm } = await opening();
    return Math.max(...cold) + Math.max(...warm);
  };
  const ratios: number[] = [];
  while (ratios.length < PAIRS) ratios.push((await msOf(page)) / (await msOf(other)));
  return median(ratios);
}

describe.skipIf(!hasChromium)('a run with a trajectory of 30,000 turns', () => {
  const journey = startJourneys();
  const once = () => ({ browser: journey.browser, url: journey.world.url, times: 1 });

  it('has few elements and uses little memory', async () => {
    await journey.open(trajectory);
    await untilWhole(journey.page);
    await journey.page.keyboard.press('End');
    expect(over(await sizesOf(journey.page))).toEqual([]);
  });

  it('is drawn once, no matter how far the reader scrolls', async () => {
    await journey.open(trajectory);
    const { page } = journey;
    await untilWhole(page);
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
    await expect.poll(async () => over(await scrollSpeed(once()), SLACK)).toEqual([]);
  });

  it('shows the last turn, and the turn that holds a text in time', async () => {
    await expect.poll(async () => over(await openTrajectorySpeed(once()), SLACK)).toEqual([]);
  });

  it('shows the first rows about as fast as those of a trajectory of two turns', async () => {
    const [long, short] = [
      { run: longRun, id: longTrajectory },
      { run: storyRun, id: `${storyRun}-g1-0.0` },
    ];
    const times = await timesAsLong(
      () => firstRowsSpeed(once(), long),
      () => firstRowsSpeed(once(), short),
    );
    expect(times).toBeLessThan(MOST_TIMES);
  });

  it('has an overview that opens about as fast as that of a run of a few steps', async () => {
    const times = await timesAsLong(
      () => chartsSpeed(once(), longRun),
      () => chartsSpeed(once(), storyRun),
    );
    expect(times).toBeLessThan(MOST_TIMES);
  });

  it('has curves that zoom to other steps of 10,000 in time', async () => {
    await seedZoomRun(journey.world.store);
    await expect.poll(async () => over(await zoomSpeed(once()), SLACK)).toEqual([]);
  });
});
