// The dashboard in a real Chromium, with the real API and its own store.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { deferred } from '../../streams/core/waiting.ts';
import { dashboardFolder } from '../app/package-folder.ts';
import { LONG_TURNS, longRun, longTrajectory, NEEDLE, SPIKE } from '../testing/dashboard-world.ts';
import { storyRun } from '../testing/api-story.ts';
import { evaluationPair, seedEvaluationPair, seedTokenTurn, tokenTurn } from '../testing/dashboard-figures.ts';
import { hasChromium, startJourneys } from '../testing/journeys.ts';

/** Runs in the page: the longest bar of the waterfall, in pixels. */
const LONGEST_BAR = `(() => {
  const canvas = document.querySelector('canvas.waterfall');
  const { width, height } = canvas;
  const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
  let longest = 0;
  for (let y = 0; y < height; y += 1)
    for (let x = 0, bar = 0; x < width; x += 1) {
      bar = data[4 * (y * width + x) + 3] > 0 ? bar + 1 : 0;
      longest = Math.max(longest, bar);
    }
  return longest;
})()`;
/** Runs in the page: whether the selected turn is at the top of the transcript. */
const SELECTED_AT_TOP = `(() => {
  const pane = document.querySelector('.pane.transcript');
  const { top } = pane.getBoundingClientRect();
  const at = pane.querySelector('[aria-current]')?.getBoundingClientRect();
  return at !== undefined && at.top <= top + 24 && at.bottom > top;
})()`;

describe.skipIf(!hasChromium)('the dashboard', () => {
  const journey = startJourneys();
  const { open } = journey;
  const trajectory = `/runs/${longRun}/t/${longTrajectory}`;
  const selected = () => journey.page.locator('.turn-row[aria-selected=true] .number').first().innerText();

  it('opens a run from the list of runs with shortcuts alone', async () => {
    await open('/');
    await expect.poll(() => journey.page.locator('tbody tr').count()).toBe(2);
    await journey.page.keyboard.press('j');
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('.stats').waitFor();
    expect(journey.page.url()).toContain('/runs/');
    await journey.page.keyboard.press('g');
    await journey.page.keyboard.press('r');
    await journey.page.locator('h1', { hasText: 'Runs' }).waitFor();
  });

  it('names its curves, zooms, and restores the same zoom from the address', async () => {
    await open(`/runs/${longRun}`);
    await journey.page.getByText('1 point = 10 steps').waitFor();
    const box = await journey.page.locator('.u-over').first().boundingBox();
    if (box === null) throw new Error('the chart has no place');
    await journey.page.mouse.move(box.x + 20, box.y + 50);
    await journey.page.mouse.down();
    await journey.page.mouse.move(box.x + 60, box.y + 60, { steps: 4 });
    await journey.page.mouse.up();
    await journey.page.waitForURL(/from=\d+&to=\d+/);
    await journey.page.reload();
    await journey.page.locator('.chart').first().waitFor();
    await journey.page.getByText('Zoom out').waitFor();
  });

  it('keeps its charts while it zooms', async () => {
    await open(`/runs/${longRun}`);
    await journey.page.locator('.chart').nth(8).waitFor();
    await journey.page.evaluate("globalThis.kept = [...document.querySelectorAll('.chart canvas')]");
    const go = (query: string) =>
      journey.page.evaluate(`void (history.pushState(null, '', ${JSON.stringify(query)}), dispatchEvent(new PopStateEvent('popstate')))`);
    await go('?from=1000&to=1200');
    await journey.page.getByText('Steps 1,000 to 1,200, every step').waitFor();
    const same = "globalThis.kept.every((canvas, at) => canvas === document.querySelectorAll('.chart canvas')[at])";
    expect(await journey.page.evaluate<boolean>(same)).toBe(true);
  });

  it('hides a chart by its digit, keeps it hidden in the address, and shows it again', async () => {
    const titles = () => journey.page.locator('.chart figcaption b').allInnerTexts();
    await open(`/runs/${longRun}`);
    await expect.poll(titles).toHaveLength(9);
    await journey.page.keyboard.press('2');
    await expect.poll(titles).not.toContain('F1');
    await journey.page.waitForURL(/hide=f1_mean/);
    await journey.page.reload();
    await expect.poll(titles).toHaveLength(8);
    await journey.page.getByRole('button', { name: 'show F1' }).click();
    await expect.poll(titles).toContain('F1');
  });

  it('draws curves over versions or time, with other runs and selected series, all in the address', async () => {
    await open(`/runs/${longRun}/curves?series=reward&with=${storyRun}`);
    await journey.page.locator('.chart', { hasText: storyRun }).first().waitFor();
    expect(await journey.page.locator('.chart').count()).toBe(2);
    await journey.page.keyboard.press('x');
    await journey.page.waitForURL(/x=version/);
    const answered = journey.page.waitForResponse(/series=reward_mean,reward_all_mean,at/);
    await journey.page.keyboard.press('x');
    await journey.page.waitForURL(/x=time/);
    await answered;
    await open(`/runs/${longRun}/curves?series=(`);
    await journey.page.getByText('This is not a valid regular expression.').waitFor();
  });

  it.each(['/', `/runs/${longRun}`, `/runs/${longRun}/curves`, trajectory, `${trajectory}?view=transcript&turn=15000`])(
    'sends at most six API requests at %s, and none of them twice',
    async (path) => {
      const asked: string[] = [];
      journey.page.on('request', (request) => {
        if (/\/v1\/(?!live)/.test(request.url())) asked.push(request.url());
      });
      await open(path);
      expect(new Set(asked).size).toBe(asked.length);
      expect(asked.length).toBeLessThanOrEqual(6);
    },
  );

  it.each(['/', `/runs/${longRun}?x=time`, trajectory])('preloads the scripts and first responses of %s, each once', async (path) => {
    const asked: string[] = [];
    journey.page.on('request', (request) => asked.push(request.url().slice(journey.world.url.length)));
    const answer = await fetch(`${journey.world.url}${path}`);
    const named = [...(answer.headers.get('link') ?? '').matchAll(/<([^>]+)>/g)].map(([, of]) => of ?? '');
    await open(path);
    for (const kind of ['/v1/', '/assets/']) expect(named.some((of) => of.startsWith(kind))).toBe(true);
    expect(asked.filter((one) => named.includes(one)).sort()).toEqual([...named].sort());
  });

  it('shows every spike', async () => {
    const answer = await fetch(`${journey.world.url}/v1/runs/${longRun}/curves?points=300&series=reward_mean`);
    const { high, steps, first_steps } = (await answer.json()) as {
      high: { reward_mean: number[] };
      steps: number[];
      first_steps: number[];
    };
    expect(steps.length).toBeLessThanOrEqual(301);
    const at = steps.findIndex((step) => step >= SPIKE);
    expect(first_steps[at]).toBeLessThanOrEqual(SPIKE);
    expect(Math.max(...high.reward_mean)).toBe(high.reward_mean[at]);
    expect(high.reward_mean[at]).toBe(2.5);
  });

  it('filters trajectories in the address, and shows the fate of each', async () => {
    await open(`/runs/${longRun}/trajectories?min_reward=0.9`);
    await journey.page.locator('.row a').first().waitFor();
    await journey.page.locator('.chip[aria-pressed=true]', { hasText: 'reward ≥' }).waitFor();
    await journey.page
      .locator('.row', { hasText: /trained step \d+/ })
      .first()
      .waitFor();
    await journey.page.keyboard.press('j');
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('.turn-row').first().waitFor();
  });

  it('opens one of 30,000 turns by its link, and the last one with a single key', async () => {
    await open(`${trajectory}?turn=${NEEDLE.turn}`);
    await expect.poll(selected).toBe(String(NEEDLE.turn));
    await journey.page.locator('.pane pre', { hasText: NEEDLE.word }).waitFor();
    await journey.page.keyboard.press('End');
    await expect.poll(selected).toBe(String(LONG_TURNS - 1));
    await journey.page.keyboard.press('e');
    await journey.page.locator('.pane .badge.bad').waitFor();
    expect(await journey.page.locator('*').count()).toBeLessThan(2_500);
    const before = await selected();
    await journey.page.reload();
    await expect.poll(selected).toBe(before);
  });

  it('shows the times of an attempt as a waterfall, beside a map of all its turns', async () => {
    await open(trajectory);
    await journey.page.locator('canvas.minimap').waitFor();
    await journey.page.keyboard.press('v');
    await journey.page.locator('.reader.waterfall .turn-row').first().waitFor();
    expect(journey.page.url()).toContain('view=waterfall');
    await journey.page.reload();
    await journey.page.locator('.reader.waterfall .turn-row').first().waitFor();
  });

  it('scales the waterfall to the turns in view or to the whole attempt, and keeps the choice in the address', async () => {
    await open(`${trajectory}?view=waterfall&turn=15000`);
    const longestBar = () => journey.page.evaluate<number>(LONGEST_BAR);
    await expect.poll(longestBar).toBeGreaterThan(10);
    await journey.page.keyboard.press('x');
    await journey.page.waitForURL(/scale=whole/);
    await expect.poll(longestBar).toBeLessThan(5);
    await journey.page.reload();
    await journey.page.locator('.chip[aria-pressed=true]', { hasText: 'whole attempt' }).click();
    await journey.page.locator('.chip', { hasText: 'turns in view' }).click();
    await expect.poll(longestBar).toBeGreaterThan(10);
    expect(journey.page.url()).not.toContain('scale=');
    expect(await journey.barriers()).toEqual([]);
  });

  it('shows an attempt of any length as one text, in which scrolling selects the turn at the top', async () => {
    await open(`${trajectory}?view=transcript&turn=15000&find=${NEEDLE.word}`);
    const turnOf = (turn: number) => journey.page.locator(`.pane.transcript [data-turn="${turn}"]`);
    const turnInAddress = () => Number(new URL(journey.page.url()).searchParams.get('turn'));
    await turnOf(15_000).waitFor();
    await expect.poll(() => journey.page.evaluate<boolean>(SELECTED_AT_TOP)).toBe(true);
    await journey.page.locator('.pane.transcript').hover();
    for (const [by, isThere] of [
      [900, () => turnInAddress() > 15_040],
      [-900, () => turnInAddress() < 14_990],
    ] as const) {
      await expect
        .poll(async () => {
          await journey.page.mouse.wheel(0, by);
          return isThere();
        })
        .toBe(true);
      await expect.poll(async () => Number(await selected()) === turnInAddress()).toBe(true);
      await expect.poll(() => journey.page.evaluate<boolean>(SELECTED_AT_TOP)).toBe(true);
      expect(await journey.page.locator('.pane.transcript [data-turn]').count()).toBeLessThanOrEqual(32);
    }
    await journey.page.keyboard.press('n');
    await turnOf(NEEDLE.turn).locator('pre', { hasText: NEEDLE.word }).waitFor();
    const marked = "[...(CSS.highlights.get('found') ?? [])].map(String)";
    await expect.poll(() => journey.page.evaluate<string[]>(marked)).toEqual([NEEDLE.word]);
    await journey.page.keyboard.press('End');
    await turnOf(LONG_TURNS - 1).waitFor();
    await journey.page.keyboard.press('k');
    await expect.poll(selected).toBe(String(LONG_TURNS - 2));
    expect(await journey.page.locator('*').count()).toBeLessThan(2_500);
    await journey.page.reload();
    await journey.page.locator(`[data-turn="${LONG_TURNS - 2}"][aria-current=true]`).waitFor();
    expect(turnInAddress()).toBe(LONG_TURNS - 2);
    expect(await journey.barriers()).toEqual([]);
  });

  it('selects the turn that loads at the top of a transcript if the reader has scrolled up to there', async () => {
    await open(`${trajectory}?view=transcript&turn=15000`);
    const { page } = journey;
    const arrival = deferred();
    await page.route('**/turns?*', (route) => arrival.promise.then(() => route.continue()));
    const pane = page.locator('.pane.transcript');
    await pane.hover();
    const scrollTop = () => pane.evaluate(({ scrollTop: top }: { readonly scrollTop: number }) => top);
    await expect.poll(async () => (await page.mouse.wheel(0, -900), scrollTop())).toBe(0);
    const firstLoaded = (await pane.locator('[data-turn]').first().getAttribute('data-turn')) ?? '';
    await expect.poll(selected).toBe(firstLoaded);
    arrival.resolve();
    await expect.poll(async () => Number(await selected())).toBeLessThan(Number(firstLoaded));
    await expect.poll(() => page.evaluate<boolean>(SELECTED_AT_TOP)).toBe(true);
  });

  it('finds a word in rows that are not rendered', async () => {
    await open(trajectory);
    await journey.page.keyboard.press('/');
    await journey.page.keyboard.type(NEEDLE.word);
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('.bar [role=status]', { hasText: '1 turn' }).waitFor();
    await journey.page.keyboard.press('n');
    await expect.poll(selected).toBe(String(NEEDLE.turn));
  });

  it('links from a step to a trajectory, and from its fate back to the step', async () => {
    await open(`/runs/${longRun}/steps/50`);
    await journey.page.getByText('Discarded meanwhile').waitFor();
    await journey.page.locator('tbody td a').first().click();
    await journey.page.locator('.fate a', { hasText: 'trained in step 50' }).click();
    await journey.page.locator('h1', { hasText: 'Step 50' }).waitFor();
    await journey.page.keyboard.press(']');
    await journey.page.locator('h1', { hasText: 'Step 51' }).waitFor();
  });

  it('opens the next and previous trajectory of a filtered list with shortcuts, up to its ends, and keeps the filter', async () => {
    const filter = 'min_reward=0.9&order=asc';
    const list = await fetch(`${journey.world.url}/v1/runs/${longRun}/trajectories?limit=4&fields=trajectory_id,attempt&${filter}`);
    const ids = ((await list.json()) as { items: { trajectory_id: string }[] }).items.map((row) => row.trajectory_id);
    await open(`/runs/${longRun}/t/${ids[0] ?? ''}?of=${encodeURIComponent(filter)}`);
    const shown = journey.page.locator('p.note code').first();
    for (const id of ids.slice(1)) {
      await journey.page.locator('a[aria-label="Next trajectory of the list"]').waitFor();
      await journey.page.keyboard.press(']');
      await expect.poll(() => shown.innerText()).toBe(id);
    }
    await journey.page.locator('a[aria-label="Previous trajectory of the list"]').waitFor();
    await journey.page.keyboard.press('[');
    await expect.poll(() => shown.innerText()).toBe(ids.at(-2));
    expect(new URL(journey.page.url()).searchParams.get('of')).toBe(filter);
  });

  it('colors the tokens of a turn, and says what was not recorded', async () => {
    await seedTokenTurn(journey.world.store);
    await open(`/runs/${longRun}/t/${tokenTurn.trajectory}?view=tokens`);
    await expect.poll(() => journey.page.locator('pre.tokens').innerText()).toBe(tokenTurn.text);
    const ranges = "[...CSS.highlights].filter(([name]) => name.startsWith('token-')).flatMap(([, of]) => [...of].map(String))";
    await expect.poll(() => journey.page.evaluate<string[]>(ranges).then((all) => all.length)).toBe(tokenTurn.tokens.length);
    await journey.page.locator('.chip', { hasText: 'version' }).click();
    await journey.page.waitForURL(/by=version/);
    expect(await journey.page.locator('[aria-label=Tokens] tbody tr').count()).toBe(tokenTurn.tokens.length);
    await journey.page.keyboard.press('j');
    await journey.page.getByText('The engine reported no tokens of this turn').waitFor();
    expect(await journey.barriers()).toEqual([]);
  });

  it('shows distributions over a step and over the steps around it', async () => {
    await open(`/runs/${longRun}/steps/50`);
    await journey.page.locator('.histogram', { hasText: 'advantage' }).waitFor();
    await journey.page.locator('.histogram', { hasText: '8 trained' }).first().waitFor();
    await journey.page.getByText('± 10 steps').click();
    await journey.page.locator('.histogram', { hasText: '168 trained' }).first().waitFor();
    expect(journey.page.url()).toContain('around=10');
  });

  it('says whether one evaluation is better than another, and with what confidence', async () => {
    await seedEvaluationPair(journey.world.store);
    const [better, worse] = evaluationPair;
    await open(`/evaluations/${worse}?with=${better}`);
    const row = journey.page.locator('[aria-label=Difference] tr', { hasText: 'avg f1' });
    await row.locator('td', { hasText: 'more' }).waitFor();
    expect(await row.locator('td').nth(3).innerText()).toBe('+0.4');
    await journey.page.getByText('100 questions in both').waitFor();
    expect(await journey.barriers()).toEqual([]);
  });

  it('runs the statement of a link', async () => {
    await open(`/sql?q=${encodeURIComponent("SELECT '<img src=x onerror=alert(1)>' AS text, 7 AS seven")}`);
    await journey.page.locator('td', { hasText: '<img src=x' }).waitFor();
    expect(await journey.page.locator('td img').count()).toBe(0);
  });

  it('says that no trajectory matches', async () => {
    await open(`/runs/${longRun}/trajectories?min_reward=9`);
    await journey.page.getByText('No trajectory fits these filters.').waitFor();
  });

  it('stays within its size budget', () => {
    const folder = join(dashboardFolder, 'assets');
    const names = readdirSync(folder);
    const sizeOf = (files: Iterable<string>): number =>
      [...files].reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).length, 0);
    /** A file with all of its static imports. */
    const withImports = (name: string, known = new Set<string>()): Set<string> => {
      if (known.has(name)) return known;
      known.add(name);
      for (const [, file = ''] of readFileSync(join(folder, name), 'utf8').matchAll(/(?:from|import)\s*"\.\/([\w-]+\.js)"/g))
        withImports(file, known);
      return known;
    };
    const shell = names.filter((name) => name.startsWith('index-'));
    const pageOf = (name: string): number => sizeOf(new Set([...shell, name].flatMap((one) => [...withImports(one)])));
    const scripts = names.filter((name) => name.endsWith('.js'));
    expect(pageOf(scripts.find((name) => name.startsWith('runs-')) ?? '')).toBeLessThan(110_000);
    for (const name of scripts) expect(pageOf(name), name).toBeLessThan(170_000);
    expect(sizeOf(names)).toBeLessThan(400_000);
  });
});
