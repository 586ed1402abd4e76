// Measures the dashboard against the budgets of its pages, in a real Chromium with the real API, which caches responses as in production,
// and its own store. `npm run bench:dashboard` writes infra/docs/reference/bench/dashboard.{md,json}; it needs an otherwise idle machine.
import { chromium, type Browser } from 'playwright-core';
import { describeEnvironment } from '../bench/environment.ts';
import { publish } from '../bench/report.ts';
import { storyRun } from '../testing/api-story.ts';
import {
  framesOf,
  median,
  overviewSpeed,
  scrollSpeed,
  seedZoomRun,
  trajectorySpeed,
  zoomSpeed,
  type SpeedFigure,
} from '../testing/dashboard-speed.ts';
import { longRun, startDashboardWorld, type DashboardWorld } from '../testing/dashboard-world.ts';
import { outgoing } from '../testing/events.ts';
import { turn } from '../testing/rollout-events.ts';

/** Default of `TURNSTREAM_API_FRESH_MS`. */
const FRESH_MS = 200;
const TIMES = 7;
const BARS = 50_000;
const flowRun = 'flow-50000';

/** The number of trajectories in one response of the flow. */
async function seedFlow({ store }: DashboardWorld): Promise<void> {
  const start = "toDateTime64('2026-11-20 08:00:00', 6, 'UTC')";
  await store.command(
    `insert into trajectories (run_id, group_id, trajectory_id, attempt, purpose, worker_id, question_id, status, reward, turns, version_first, version_last,
       started_at, finished_at, occurred_at, _topic, _partition, _offset, _timestamp)
     select '${flowRun}', concat('g', toString(intDiv(number, 4))), concat('${flowRun}-g', toString(intDiv(number, 4)), '.', toString(number % 4)), 0, 'train',
       concat('worker-', toString(number % 16)), 'q-0', 'answered', 0.5, 6, toInt32(intDiv(number, 64)), toInt32(intDiv(number, 64) + number % 3),
       ${start} + toIntervalMillisecond(number * 250), ${start} + toIntervalMillisecond(number * 250 + 4000 + cityHash64(number) % 20000), ${start},
       'turnstream.rollouts', 3, number, ${start}
     from numbers(${BARS})`,
  );
}

async function flowSpeed(browser: Browser, url: string): Promise<readonly SpeedFigure[]> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
  const started = performance.now();
  await page.goto(`${url}/runs/${flowRun}/flow`, { waitUntil: 'commit' });
  await page.locator('canvas.flow').waitFor();
  const drawnMs = performance.now() - started;
  await page.keyboard.press('z');
  await page.locator('canvas.flow').hover({ position: { x: 600, y: 100 } });
  let by = 240;
  const { fps, longestMs } = await framesOf(page, 5, async () => {
    await page.keyboard.down('Shift');
    await page.mouse.wheel(0, (by = -by));
    await page.keyboard.up('Shift');
  });
  await page.close();
  return [
    { what: 'flow of 50,000 trajectories: drawn', unit: 'ms', most: 3_000, values: [drawnMs] },
    { what: 'moving it, all of it in view', unit: 'fps', least: 58, values: [fps] },
    { what: 'longest task while it moves', unit: 'ms', most: 100, values: [longestMs] },
  ];
}

async function tailSpeed(browser: Browser, { url, log }: DashboardWorld): Promise<readonly SpeedFigure[]> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
  await page.goto(`${url}/live`);
  await page.locator('.live', { hasText: '●' }).waitFor();
  const values: number[] = [];
  for (let sequence = 0; sequence < 50; sequence += 1) {
    const trajectory = `${storyRun}-tail-${sequence}.0`;
    const started = performance.now();
    await log.writer().append([outgoing('TurnRecorded', turn({ run: storyRun, trajectory, sequence: 1 }, 1))]);
    await page.locator('.tail-row a', { hasText: trajectory }).waitFor();
    values.push(performance.now() - started);
  }
  await page.close();
  return [{ what: 'turn written → on the live page, slowest of 50', unit: 'ms', most: 1_000, values: [Math.max(...values)] }];
}

const shown = (unit: SpeedFigure['unit'], value: number): string =>
  unit === 'elements' ? String(value) : `${value.toFixed(unit === 'ms' || unit === 'fps' ? 0 : 1)} ${unit}`;

const environment = describeEnvironment();
const world = await startDashboardWorld({ freshMs: FRESH_MS });
await seedFlow(world);
await seedZoomRun(world.store);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const measured = { browser, url: world.url, times: TIMES };
const figures = [
  ...(await overviewSpeed(measured)),
  ...(await zoomSpeed(measured)),
  ...(await trajectorySpeed(measured)),
  ...(await scrollSpeed(measured)),
  ...(await flowSpeed(browser, world.url)),
  ...(await tailSpeed(browser, world)),
];
await browser.close();
await world.stop();

const targets = figures.map((figure) => {
  const found = median(figure.values);
  const { what, unit } = figure;
  return 'most' in figure
    ? { what, wanted: `< ${shown(unit, figure.most)}`, found: shown(unit, found), met: found < figure.most }
    : { what, wanted: `≥ ${shown(unit, figure.least)}`, found: shown(unit, found), met: found >= figure.least };
});
await publish({
  name: 'dashboard',
  title: 'The dashboard',
  method: `\`npm run bench:dashboard\` opens the pages in a headless Chromium over the real API and a store of its own, all on one machine. Figures are the median of ${TIMES}, or of one; a cold page is opened with nothing in the caches of the browser, a warm one again in the same browser. The API shares answers for ${FRESH_MS} ms, as it does when nothing is set.`,
  quick: false,
  environment,
  parameters: { run: longRun, times: TIMES, freshMs: FRESH_MS },
  table: {
    columns: ['what', 'median', 'least', 'most'],
    rows: figures.map(({ what, unit, values }) => [
      what,
      ...[median(values), Math.min(...values), Math.max(...values)].map((one) => shown(unit, one)),
    ]),
  },
  targets,
  figures,
});
