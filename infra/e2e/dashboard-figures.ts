// How fast the dashboard is: the budgets of its pages, measured in a real Chromium over the real API and a store of its own.
// `npm run bench:dashboard` prints a table; it wants a quiet machine.
import { chromium, type Page } from 'playwright-core';
import { storyRun } from '../testing/api-story.ts';
import { longRun, longTrajectory, NEEDLE, startDashboardWorld, type DashboardWorld } from '../testing/dashboard-world.ts';
import { outgoing } from '../testing/events.ts';
import { turn } from '../testing/rollout-events.ts';

interface BudgetFigure {
  readonly what: string;
  readonly budget: string;
  readonly measured: string;
  readonly ok: boolean;
}

const figures: BudgetFigure[] = [];
const ms = (value: number): string => `${value.toFixed(0)} ms`;
interface Below {
  readonly most: number;
  readonly value: number;
  readonly unit?: (value: number) => string;
}

function below(what: string, { most, value, unit = ms }: Below): void {
  figures.push({ what, budget: `< ${unit(most)}`, measured: unit(value), ok: value < most });
}

const BARS = 50_000;
const flowRun = 'flow-50000';

/** As many trajectories as one answer of the flow has. */
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

/** Frames a second and the longest task while something goes on for some seconds. */
async function frames(
  page: Page,
  seconds: number,
  during: () => Promise<void>,
): Promise<{ readonly fps: number; readonly longestMs: number }> {
  await page.evaluate(`
    globalThis.__frames = []; globalThis.__tasks = [0]; globalThis.__counting = true;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => globalThis.__tasks.push(entry.duration))).observe({ type: 'longtask' });
    (function frame(at) { globalThis.__frames.push(at); if (globalThis.__counting) requestAnimationFrame(frame); })(performance.now());
  `);
  const until = Date.now() + seconds * 1_000;
  while (Date.now() < until) await during();
  return page.evaluate<{ fps: number; longestMs: number }>(`
    globalThis.__counting = false;
    (() => { const gaps = globalThis.__frames.slice(1).map((at, i) => at - globalThis.__frames[i]).sort((a, b) => a - b);
      return { fps: 1000 / gaps[Math.floor(gaps.length / 2)], longestMs: Math.max(...globalThis.__tasks) }; })()
  `);
}

async function timed(doing: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await doing();
  return performance.now() - started;
}

async function measureOverview(page: Page, url: string): Promise<void> {
  const open = async (): Promise<unknown> => {
    await page.goto(`${url}/runs/${longRun}`, { waitUntil: 'commit' });
    return page.locator('.chart .u-over').nth(5).waitFor();
  };
  below('overview of 4,000 steps, cold: six charts drawn', { most: 1_000, value: await timed(open) });
  below('overview, warm', { most: 300, value: await timed(open) });
  const zoom = async (): Promise<unknown> => {
    await page.evaluate("void (history.pushState(null, '', '?from=1000&to=1200'), dispatchEvent(new PopStateEvent('popstate')))");
    return page.getByText('Steps 1,000 to 1,200').waitFor();
  };
  below('zoom to the new steps, six charts', { most: 200, value: await timed(zoom) });
}

async function measureTrajectory(page: Page, url: string): Promise<void> {
  const selected = page.locator('.turn-row[aria-selected=true] .number', { hasText: '29999' });
  const open = async (): Promise<unknown> => {
    await page.goto(`${url}/runs/${longRun}/t/${longTrajectory}`, { waitUntil: 'commit' });
    return page.locator('.turn-row').first().waitFor();
  };
  await open();
  below('30,000 turns: first rows', { most: 400, value: await timed(open) });
  const toEnd = async (): Promise<unknown> => {
    await page.keyboard.press('End');
    return selected.waitFor();
  };
  below('30,000 turns: last turn', { most: 100, value: await timed(toEnd) });
  await page.locator('.turn-list .rows').hover();
  const { fps, longestMs } = await frames(page, 5, async () => page.mouse.wheel(0, -600));
  figures.push({ what: '5 s of wheel over 30,000 turns', budget: '>= 58 fps', measured: `${fps.toFixed(0)} fps`, ok: fps >= 58 });
  below('longest task while scrolling', { most: 50, value: longestMs });
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const metric = (name: string): number => metrics.find((one) => one.name === name)?.value ?? NaN;
  below('heap', { most: 80, value: metric('JSHeapUsedSize') / 1e6, unit: (value) => `${value.toFixed(1)} MB` });
  below('elements', { most: 2_500, value: await page.locator('*').count(), unit: String });
  const find = async (): Promise<unknown> => {
    await page.keyboard.press('/');
    await page.keyboard.type(NEEDLE.word);
    await page.keyboard.press('Enter');
    return page.locator('.bar [role=status]', { hasText: '1 turn' }).waitFor();
  };
  below('find in 30,000 turns', { most: 500, value: await timed(find) });
}

async function measureFlow(page: Page, url: string): Promise<void> {
  const open = async (): Promise<unknown> => {
    await page.goto(`${url}/runs/${flowRun}/flow`, { waitUntil: 'commit' });
    return page.locator('canvas.flow').waitFor();
  };
  below('flow of 50,000 trajectories: drawn', { most: 3_000, value: await timed(open) });
  await page.keyboard.press('z');
  await page.locator('canvas.flow').hover({ position: { x: 600, y: 100 } });
  let by = 240;
  const { fps, longestMs } = await frames(page, 5, async () => {
    await page.keyboard.down('Shift');
    await page.mouse.wheel(0, (by = -by));
    await page.keyboard.up('Shift');
  });
  figures.push({
    what: 'moving it, all of it in view',
    budget: '60 fps',
    measured: `${fps.toFixed(0)} fps, longest task ${ms(longestMs)}`,
    ok: fps >= 58,
  });
}

async function measureTail(page: Page, { url, log }: DashboardWorld): Promise<void> {
  await page.goto(`${url}/live`);
  await page.locator('.live', { hasText: '●' }).waitFor();
  const latencies: number[] = [];
  for (let sequence = 0; sequence < 50; sequence += 1) {
    const trajectory = `${storyRun}-tail-${sequence}.0`;
    latencies.push(
      await timed(async () => {
        await log.writer().append([outgoing('TurnRecorded', turn({ run: storyRun, trajectory, sequence: 1 }, 1))]);
        await page.locator('.tail-row a', { hasText: trajectory }).waitFor();
      }),
    );
  }
  latencies.sort((a, b) => a - b);
  below('turn written → on the live page, slowest of 50', { most: 1_000, value: latencies.at(-1) ?? NaN });
}

const world = await startDashboardWorld();
await seedFlow(world);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
page.setDefaultTimeout(60_000);
for (const measure of [measureOverview, measureTrajectory, measureFlow]) await measure(page, world.url);
await measureTail(page, world);
process.stdout.write('| what | budget | measured | |\n| --- | --- | --- | --- |\n');
for (const { what, budget, measured, ok } of figures)
  process.stdout.write(`| ${what} | ${budget} | ${measured} | ${ok ? 'ok' : 'over'} |\n`);
await browser.close();
await world.stop();
