// Measures the speed of the dashboard's pages in a real Chromium: each figure with its budget. `npm run bench:dashboard` publishes them; a
// test checks most of them with slack.
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Store } from '../../streams/core/ports.ts';
import { LONG_TURNS, longRun, longTrajectory, NEEDLE } from './dashboard-world.ts';

/** `most` is the budget; a `least` is a rate that has to be reached. */
export type SpeedFigure = {
  readonly what: string;
  readonly unit: 'ms' | 'MB' | 'fps' | 'elements';
  readonly values: readonly number[];
} & ({ readonly most: number } | { readonly least: number });

export const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[(values.length - 1) >> 1] ?? NaN;

/** The run whose curves are zoomed, the number of its steps, and the number of charts on the page. */
const zoomRun = 'curves-10000';
const ZOOM_STEPS = 10_000;
const CHARTS = 12;
const TWELVE = '^(exact|tool calls|where|staleness of|tokens of|loss|entropy|kl|clip|effective|gradient|waiting)';

/** 10,000 steps, made of the steps of the long run. */
export async function seedZoomRun(store: Store): Promise<void> {
  const copy = (table: string, before: number, columns: readonly string[]): string => {
    const moved = columns.map((name) => `, toInt32(${name} + ${before}) as ${name}`).join('');
    const of = `run_id = '${longRun}'${columns.length === 0 ? '' : ` and step <= ${ZOOM_STEPS - before}`}`;
    return `insert into ${table} select * replace ('${zoomRun}' as run_id${moved}) from (select * from ${table} where ${of})`;
  };
  await store.command(copy('run_events', 0, []));
  for (const before of [0, 4_000, 8_000]) {
    await store.command(copy('steps', before, ['step', 'version_after']));
    await store.command(copy('step_figures', before, ['step']));
  }
}

async function timed(doing: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await doing();
  return performance.now() - started;
}

async function repeated(times: number, doing: () => Promise<number>): Promise<readonly number[]> {
  const values: number[] = [];
  while (values.length < times) values.push(await doing());
  return values;
}

interface Measured {
  readonly browser: Browser;
  readonly url: string;
  /** How often each figure is measured. */
  readonly times: number;
  /** How long an opened page may load what it shows below before it is opened again. */
  readonly settleMs?: number;
}

const viewport = { width: 1_280, height: 800 };

/** Opens a page with empty browser caches. */
async function fresh<T>({ browser }: Measured, doing: (page: Page, context: BrowserContext) => Promise<T>): Promise<T> {
  const context = await browser.newContext({ viewport });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    return await doing(page, context);
  } finally {
    await context.close();
  }
}

/** Times in ms, from the start of the navigation to the paint, of a page that is opened with empty caches, then again in the same browser. */
export interface OpenedTimes {
  readonly cold: readonly number[];
  readonly warm: readonly number[];
}

/** A page, and what it shows when it is ready: as many elements as `count` that match the selector. */
interface OpenedPage {
  readonly path: string;
  readonly selector: string;
  readonly count: number;
}

/** Resolves after the next paint. */
const PAINTED = 'new Promise((done) => requestAnimationFrame(() => setTimeout(done)))';

/**
 * Resolves to the ms from the start of the navigation to the paint after the condition first holds. This is the clock of the page: a program
 * that drives a browser on busy cores notices the paint up to 100 ms later.
 */
const paintedWhen = (condition: string): string => `
  new Promise((done) => new MutationObserver((_, observer) => {
    if (!(${condition})) return;
    observer.disconnect();
    ${PAINTED}.then(() => done(performance.now()));
  }).observe(document, { childList: true, subtree: true, characterData: true }))`;

async function opened(measured: Measured, { path, selector, count }: OpenedPage): Promise<OpenedTimes> {
  const isShown = `document.querySelectorAll(${JSON.stringify(selector)}).length >= ${count}`;
  const [cold, warm]: [number[], number[]] = [[], []];
  for (let round = 0; round < measured.times; round += 1) {
    await fresh(measured, async (page) => {
      await page.addInitScript(`globalThis.__painted = ${paintedWhen(isShown)};`);
      const open = async (): Promise<number> => {
        await page.goto(`${measured.url}${path}`, { waitUntil: 'commit' });
        return page.evaluate<number>('globalThis.__painted');
      };
      cold.push(await open());
      await page.waitForTimeout(measured.settleMs ?? 0);
      warm.push(await open());
    });
  }
  return { cold, warm };
}

/** Times in ms until the charts of a run's overview are drawn. */
export const chartsSpeed = (measured: Measured, run: string): Promise<OpenedTimes> =>
  opened(measured, { path: `/runs/${run}`, selector: '.chart .u-over', count: 6 });

export async function overviewSpeed(
  measured: Measured,
  { run, what }: { readonly run: string; readonly what: string },
): Promise<readonly SpeedFigure[]> {
  const { cold, warm } = await chartsSpeed(measured, run);
  return [
    { what: `${what}, cold: charts drawn`, unit: 'ms', most: 1_000, values: cold },
    { what: `${what}, warm`, unit: 'ms', most: 300, values: warm },
  ];
}

/** Opens the address without loading the page, and resolves to the ms until the text is painted. */
const zoomScript = (query: string, text: string): string => `
  (() => {
    const began = performance.now();
    const painted = ${paintedWhen(`document.querySelector('main').textContent.includes(${JSON.stringify(text)})`)};
    history.pushState(null, '', ${JSON.stringify(query)});
    dispatchEvent(new PopStateEvent('popstate'));
    return painted.then((at) => at - began);
  })()`;

export async function zoomSpeed(measured: Measured): Promise<readonly SpeedFigure[]> {
  return fresh(measured, async (page, context) => {
    await page.goto(`${measured.url}/runs/${zoomRun}/curves?series=${encodeURIComponent(TWELVE)}`);
    await page
      .locator('.chart .u-over')
      .nth(CHARTS - 1)
      .waitFor();
    const session = await context.newCDPSession(page);
    await session.send('Performance.enable');
    const scripted = async (): Promise<number> => {
      const { metrics } = await session.send('Performance.getMetrics');
      return 1_000 * (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? NaN);
    };
    const redraws: number[] = [];
    let from = 1_000;
    const values = await repeated(measured.times, async () => {
      from += 301;
      const before = await scripted();
      const query = `?series=${encodeURIComponent(TWELVE)}&from=${from}&to=${from + 2_000}`;
      const took = await page.evaluate<number>(zoomScript(query, `Steps ${from.toLocaleString('en-US')} to `));
      redraws.push(((await scripted()) - before) / CHARTS);
      return took;
    });
    return [
      { what: `${ZOOM_STEPS.toLocaleString('en-US')} steps, ${CHARTS} charts: zoom to the new steps`, unit: 'ms', most: 200, values },
      { what: 'redraw of a chart with new steps, script', unit: 'ms', most: 8, values: redraws },
    ];
  });
}

interface ShownTrajectory {
  readonly run: string;
  readonly id: string;
}

const pathOf = ({ run, id }: ShownTrajectory): string => `/runs/${run}/t/${id}?attempt=0`;

/** Times in ms until the first rows of a trajectory are shown. */
export const firstRowsSpeed = (measured: Measured, shown: ShownTrajectory): Promise<OpenedTimes> =>
  opened(measured, { path: pathOf(shown), selector: '.turn-row', count: 1 });

const longest: ShownTrajectory = { run: longRun, id: longTrajectory };

export async function trajectorySpeed(measured: Measured): Promise<readonly SpeedFigure[]> {
  const { cold, warm } = await firstRowsSpeed(measured, longest);
  return [
    { what: '30,000 turns, cold: first rows', unit: 'ms', most: 400, values: cold },
    { what: '30,000 turns, warm: first rows', unit: 'ms', most: 400, values: warm },
    ...(await openTrajectorySpeed(measured)),
  ];
}

/** Resolves when the page has all turns of the longest trajectory, and not only the first, which it shows earlier. */
export const untilWhole = (page: Page): Promise<void> =>
  page.getByRole('listbox', { name: `${LONG_TURNS.toLocaleString('en-US')} turns` }).waitFor();

/** Figures of the trajectory's page while it is open, once all turns have arrived. */
export async function openTrajectorySpeed(measured: Measured): Promise<readonly SpeedFigure[]> {
  return fresh(measured, async (page) => {
    await page.goto(`${measured.url}${pathOf(longest)}`);
    await untilWhole(page);
    const selected = (turn: string) => page.locator('.turn-row[aria-selected=true] .number', { hasText: new RegExp(`^${turn}$`) });
    const last = await repeated(measured.times, async () => {
      await page.keyboard.press('Home');
      await selected('0').waitFor();
      return timed(async () => {
        await page.keyboard.press('End');
        await selected('29999').waitFor();
      });
    });
    const find = await timed(async () => {
      await page.keyboard.press('/');
      await page.keyboard.type(NEEDLE.word);
      await page.keyboard.press('Enter');
      await page.locator('.bar [role=status]', { hasText: '1 turn' }).waitFor();
    });
    return [
      { what: '30,000 turns: last turn', unit: 'ms', most: 100, values: last },
      { what: 'find in 30,000 turns', unit: 'ms', most: 500, values: [find] },
      ...(await sizesOf(page)),
    ];
  });
}

export async function sizesOf(page: Page): Promise<readonly SpeedFigure[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const heap = (metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? NaN) / 1e6;
  return [
    { what: 'heap', unit: 'MB', most: 80, values: [heap] },
    { what: 'elements', unit: 'elements', most: 2_500, values: [await page.locator('*').count()] },
  ];
}

/** The number of rectangles that are drawn on canvases while `during` runs. */
export async function rectanglesOf(page: Page, during: () => Promise<void>): Promise<number> {
  await page.evaluate(`
    globalThis.__rectangles = 0;
    const { prototype } = CanvasRenderingContext2D;
    const own = prototype.fillRect;
    prototype.fillRect = function (...sides) { globalThis.__rectangles += 1; return own.apply(this, sides); };
  `);
  await during();
  await page.evaluate(PAINTED);
  return page.evaluate<number>('globalThis.__rectangles');
}

/** Frames per second and the longest task while `during` is repeated for some seconds. */
export async function framesOf(
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

export async function scrollSpeed(measured: Measured): Promise<readonly SpeedFigure[]> {
  return fresh(measured, async (page) => {
    await page.goto(`${measured.url}/runs/${longRun}/t/${longTrajectory}?attempt=0&turn=29000`);
    await page.locator('.turn-row').first().waitFor();
    await page.locator('.turn-list .rows').hover();
    const { fps, longestMs } = await framesOf(page, 5, async () => page.mouse.wheel(0, -600));
    return [
      { what: '5 s of scrolling over 30,000 turns', unit: 'fps', least: 58, values: [fps] },
      { what: 'longest task while scrolling', unit: 'ms', most: 50, values: [longestMs] },
    ];
  });
}
