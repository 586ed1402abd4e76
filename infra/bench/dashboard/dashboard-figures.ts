// Measures the dashboard against the budgets of its pages, in a real Chromium with the real API, which caches responses as in production.
// `npm run bench:dashboard` measures over a small store of its own, `npm run bench:dashboard -- --turns 10000000 --rate 2000` over ten
// million turns while more come in; each writes a page to infra/docs/reference/bench. Both need an otherwise idle machine.
import { parseArgs } from 'node:util';
import { chromium, type Browser } from 'playwright-core';
import { describeEnvironment } from '../environment.ts';
import { publish, whole, type BenchReport } from '../report.ts';
import {
  median,
  overviewSpeed,
  scrollSpeed,
  seedZoomRun,
  trajectorySpeed,
  zoomSpeed,
  type SpeedFigure,
} from '../../testing/dashboard-speed.ts';
import { longRun } from '../../testing/dashboard-world.ts';
import { chromiumPath } from '../../testing/journeys.ts';
import { flowSpeed, seedStreams, tailSpeed } from './dashboard-streams.ts';
import { flagsOr } from '../../e2e/flags.ts';
import { FRESH_MS, inLargeWorld, inSmallWorld, largeRun, type MeasuredWorld } from './measured-worlds.ts';

const help = `npm run bench:dashboard -- [--turns n] [--rate n] [--turn-bytes 800] [--times 7] [--out dir]
  --turns       turns in the tables before anything is measured; without it, a small store
  --rate        turns written per second during the measurement, with --turns; default 2000
  --out         folder of the report; default infra/docs/reference/bench`;

const flags = flagsOr(help, () => {
  const { values } = parseArgs({
    options: {
      turns: { type: 'string' },
      rate: { type: 'string', default: '2000' },
      'turn-bytes': { type: 'string', default: '800' },
      times: { type: 'string', default: '7' },
      out: { type: 'string' },
    },
  });
  for (const [name, value] of Object.entries(values)) {
    if (name !== 'out' && !/^[1-9]\d*$/.test(value)) throw new Error(`--${name} takes a whole number, not ${value}`);
  }
  return values;
});
const times = Number(flags.times);
/** Enough for a page to load the parts that it requests last. */
const SETTLE_MS = 1_000;

async function figuresIn(browser: Browser, world: MeasuredWorld): Promise<readonly SpeedFigure[]> {
  const { url, store } = world;
  await seedStreams(store);
  await seedZoomRun(store);
  const measured = { browser, url, times, settleMs: SETTLE_MS };
  return [
    ...(await overviewSpeed(measured, { run: longRun, what: 'overview of 4,000 steps' })),
    ...(flags.turns === undefined ? [] : await overviewSpeed(measured, { run: largeRun, what: `overview of ${turnsText(flags.turns)}` })),
    ...(await zoomSpeed(measured)),
    ...(await trajectorySpeed(measured)),
    ...(await scrollSpeed(measured)),
    ...(await flowSpeed(browser, url)),
    ...(await tailSpeed(browser, world)),
  ];
}

const turnsText = (turns: number | string): string => `${whole(Number(turns))} turns`;

const shown = (unit: SpeedFigure['unit'], value: number): string =>
  unit === 'elements' ? String(value) : `${value.toFixed(unit === 'ms' || unit === 'fps' ? 0 : 1)} ${unit}`;

const targetsOf = (figures: readonly SpeedFigure[]): BenchReport['targets'] =>
  figures.map((figure) => {
    const found = median(figure.values);
    const { what, unit } = figure;
    return 'most' in figure
      ? { what, wanted: `< ${shown(unit, figure.most)}`, found: shown(unit, found), met: found < figure.most }
      : { what, wanted: `≥ ${shown(unit, figure.least)}`, found: shown(unit, found), met: found >= figure.least };
  });

const tableOf = (figures: readonly SpeedFigure[]): BenchReport['table'] => ({
  columns: ['what', 'median', 'least', 'most'],
  rows: figures.map(({ what, unit, values }) => [
    what,
    ...[median(values), Math.min(...values), Math.max(...values)].map((one) => shown(unit, one)),
  ]),
});

const method = `opens the pages in a headless Chromium over the real API, all on one machine. Figures are the median of ${times} measurements, or a single one; a cold page is opened with nothing in the caches of the browser, a warm one again in the same browser ${SETTLE_MS / 1_000} s later. Opening and zooming are timed by the clock of the page, from the start of the navigation to the paint. The API shares answers for ${FRESH_MS} ms, as it does when nothing is set.`;

interface MeasuredReport extends Pick<BenchReport, 'name' | 'title' | 'method' | 'parameters'> {
  readonly figures: readonly SpeedFigure[];
}

async function measure(browser: Browser): Promise<MeasuredReport> {
  const always = { run: longRun, times, freshMs: FRESH_MS };
  const { turns: asked, rate, 'turn-bytes': turnBytes } = flags;
  if (asked === undefined) {
    const figures = await inSmallWorld((world) => figuresIn(browser, world));
    return { name: 'dashboard', title: 'The dashboard', method: `\`npm run bench:dashboard\` ${method}`, parameters: always, figures };
  }
  const found = await inLargeWorld({ turns: Number(asked), rate, turnBytes }, (world) => figuresIn(browser, world));
  const { turns, stored, figures } = found;
  return {
    name: 'dashboard-loaded',
    title: `The dashboard over ${turnsText(asked)}`,
    method: `\`npm run bench:dashboard -- --turns ${asked} --rate ${rate}\` ${method} The tables hold ${turnsText(turns)}, which \`turnstream load\` wrote and the sink stored, with a ledger of steps and discards over them; ${whole(stored)} turns/s were stored while the pages were opened.`,
    parameters: { ...always, turns, 'turn bytes': turnBytes, 'turns/s asked for': rate, 'turns/s stored': Math.round(stored) },
    figures,
  };
}

const environment = describeEnvironment();
const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
try {
  const found = await measure(browser);
  await publish({ ...found, quick: false, environment, table: tableOf(found.figures), targets: targetsOf(found.figures) }, flags.out);
} finally {
  await browser.close();
}
