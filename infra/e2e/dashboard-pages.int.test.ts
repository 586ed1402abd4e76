// Journeys through the pages that watch a run, compare runs, and find things, in a real Chromium.
import { describe, expect, it } from 'vitest';
import { longRun, longTrajectory } from '../testing/dashboard-world.ts';
import { storyRun } from '../testing/api-story.ts';
import { hasChromium, startJourneys } from '../testing/journeys.ts';
import { turn } from '../testing/rollout-events.ts';
import { outgoing, randomEvent, seeded } from '../testing/events.ts';

const run = `/runs/${longRun}`;

describe.skipIf(!hasChromium)('the pages of the dashboard', () => {
  const journey = startJourneys();
  const { open } = journey;
  const text = (wanted: string | RegExp) => journey.page.getByText(wanted).first().waitFor();

  it('links from the overview through an advisory to its evidence', async () => {
    await open(run);
    await text('The tool search was out');
    await text('Hatched: a tool outage.');
    await journey.page.locator('.findings a', { hasText: 'Evidence' }).first().click();
    await journey.page.locator('td', { hasText: 'timeout' }).first().waitFor();
    await open(`/runs/${storyRun}/advisories`);
    await journey.page.locator('.state.empty, .findings').first().waitFor();
  });

  it('shows discards and their reasons, over all steps and over a range', async () => {
    await open(`${run}/dropped`);
    await text(/distributed like|differs from/);
    await journey.page.locator('td', { hasText: 'uniform group' }).waitFor();
    await journey.page.locator('input').first().fill('3');
    await journey.page.keyboard.press('Enter');
    await journey.page.waitForURL(/from=3/);
    await expect.poll(() => journey.page.locator('[aria-label="By step"] tbody td').first().innerText()).toBe('3');
  });

  it('shows evaluations with intervals and their answers', async () => {
    await open('/evaluations');
    await journey.page.getByText('eval-1').click();
    await journey.page.locator('[aria-label=Answers] tbody tr').first().waitFor();
    await text('By level, with 95 % intervals');
  });

  it('follows evaluations from their start to their end', async () => {
    const { store, log } = journey.world;
    const [evaluation, random] = [{ evaluation_id: 'eval-live', run_id: storyRun }, seeded(1)] as const;
    const add = (event: string, offset: number): Promise<void> =>
      store.command(
        `insert into evaluation_events (evaluation_id, run_id, event, dataset, split, occurred_at, _topic, _partition, _offset, _timestamp)
         select 'eval-live', '${storyRun}', '${event}', 'factbook', 'heldout', now64(6), 'turnstream.evaluations', 40, ${offset}, now64(3)`,
      );
    await open('/evaluations');
    await journey.page.locator('.top .live', { hasText: '●' }).waitFor();
    const row = journey.page.locator('[aria-label=Evaluations] tr', { hasText: 'eval-live' });
    await add('started', 0);
    await log.writer().append([outgoing('EvaluationStarted', randomEvent('EvaluationStarted', random, evaluation))]);
    await row.getByText('running').waitFor();
    const connected = journey.page.waitForResponse(/\/v1\/live\?.*type=AnswerScored/);
    await row.getByRole('link', { name: 'eval-live' }).click();
    await connected;
    await journey.page.locator('.head .badge', { hasText: 'running' }).waitFor();
    await journey.page.locator('.top .live', { hasText: '●' }).waitFor();
    await log.writer().append([outgoing('AnswerScored', randomEvent('AnswerScored', random, evaluation))]);
    await journey.page.getByRole('button', { name: '1 since: show' }).waitFor();
    await add('completed', 1);
    await log.writer().append([outgoing('EvaluationCompleted', randomEvent('EvaluationCompleted', random, evaluation))]);
    await journey.page.locator('.head .badge', { hasText: 'completed' }).waitFor();
  });

  it('checks every 15 s on a run that writes nothing, and shows the state of its trainer', async () => {
    await journey.page.clock.install();
    const again = async (): Promise<void> => {
      const asked = journey.page.waitForRequest((request) => request.url().endsWith(`/v1${run}/advisories`));
      await journey.page.clock.fastForward(15_000);
      await asked;
    };
    await open(run);
    await text('newest entry TrajectoryExpired');
    await journey.page.locator('.stat', { hasText: 'Trainer' }).getByText('silent').waitFor();
    await again();
    await open(`${run}/advisories`);
    await text('The tool search was out');
    await again();
  });

  it('finds a text in a run, and opens the turn', async () => {
    await open(`/search?run=${longRun}`);
    await journey.page.keyboard.press('/');
    await journey.page.keyboard.type('ouagadougou');
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('.matches a').first().click();
    await journey.page.locator('.pane pre', { hasText: 'Ouagadougou' }).waitFor();
    await open(`/search?run=${longRun}&q=nothing-holds-this&in=arguments`);
    await text('No arguments of this run hold this text.');
  });

  it('aligns two attempts at one question', async () => {
    await open(`${run}/steps/50`);
    await journey.page.locator('tr.group a').first().click();
    await text(/over the 4 attempts that counted: rewards .* standard deviation/);
    const formula = journey.page.locator('[aria-label=Attempts] td', { hasText: /^\([\d.]+ − [\d.]+\) \/ [\d.]+ = -?[\d.]+$/ });
    await expect.poll(() => formula.count()).toBe(4);
    const board = journey.page.locator('[aria-label="Aligned calls"]');
    await expect.poll(() => board.locator('thead th').count()).toBe(4);
    expect(await board.locator('tbody tr').count()).toBeGreaterThan(2);
    expect(await board.locator('td a').first().getAttribute('href')).toMatch(/\?attempt=0&turn=0$/);
    await journey.page.locator('.diff .turn').first().waitFor();
    const before = journey.page.url();
    await journey.page.keyboard.press('l');
    await expect.poll(() => journey.page.url()).not.toBe(before);
  });

  it('follows a question over versions', async () => {
    await open(`${run}/questions`);
    await journey.page.locator('[aria-label=Questions] a').first().click();
    await text(/different answers over \d+ versions/);
    await journey.page.locator('[aria-label=Answers] a').first().click();
    await journey.page.locator('.fate').waitFor();
  });

  it('shows workers, the weights in use, and admissions', async () => {
    await open(`${run}/workers`);
    await text(/first turn with it: median [\d.]+ m?s/);
    await text(/All 4,000 admissions in [\d,]+ spans/);
    await open(`/runs/${storyRun}/workers`);
    await journey.page.locator('.state.missing').first().waitFor();
  });

  it('shows tools over time, with outages', async () => {
    await open(`${run}/tools`);
    await journey.page.locator('[aria-label=Outages] td', { hasText: 'search' }).waitFor();
    await journey.page.locator('[aria-label=Outages] a').click();
    await journey.page.waitForURL(/curves\?from=\d+&to=\d+/);
  });

  it('opens dead letters with shortcuts, and shows their bytes', async () => {
    await open('/dead-letters');
    await journey.page.locator('tbody tr').first().waitFor();
    await journey.page.keyboard.press('j');
    await journey.page.locator('pre', { hasText: '6a 75 6e 6b' }).waitFor();
    await journey.page.reload();
    await journey.page.locator('pre', { hasText: 'junk' }).waitFor();
  });

  it('follows the log, stops while paused, and links to the turn', async () => {
    await open('/live');
    await journey.page.locator('.live', { hasText: '●' }).waitFor();
    const write = (sequence: number) =>
      journey.world.log.writer().append([outgoing('TurnRecorded', turn({ run: storyRun, trajectory: `${storyRun}-g1-0.0`, sequence }, 1))]);
    await write(11);
    await journey.page.locator('.tail-row').first().waitFor();
    await journey.page.keyboard.press('f');
    await journey.page.waitForURL(/paused=1/);
    const before = await journey.page.locator('.tail-row').count();
    await write(12);
    await journey.page.locator('.chip', { hasText: '1 since: show' }).waitFor();
    expect(await journey.page.locator('.tail-row').count()).toBe(before);
    await journey.page.keyboard.press('f');
    await expect.poll(() => journey.page.locator('.tail-row').count()).toBe(before + 1);
    await journey.page.locator('.tail-row a').first().click();
    await journey.page.locator('.fate').waitFor();
  });

  it('is usable with the keyboard alone: links, buttons, charts, and the strip of the flow', async () => {
    const { keyboard } = journey.page;
    const focused = () => journey.page.evaluate<string>("document.activeElement?.textContent.trim() ?? ''");
    const tabTo = async (name: string): Promise<void> => {
      for (let tabs = 0; tabs < 60; tabs += 1) {
        await keyboard.press('Tab');
        if ((await focused()) === name) return;
      }
      throw new Error(`Tab does not reach ${name}`);
    };
    await open('/');
    await journey.page.locator('tbody tr').nth(1).waitFor();
    await tabTo('Skip to the content');
    await keyboard.press('Enter');
    await expect.poll(() => journey.page.evaluate<string>("document.activeElement?.id ?? ''")).toBe('main');
    await tabTo('finished');
    await keyboard.press('Enter');
    await journey.page.waitForURL(/status=finished/);
    // Enter opens the focused link, not the selected row, unless a key selected the row after the link got the focus
    await open('/');
    const runs = await journey.page.locator('tbody td:first-child a').allInnerTexts();
    await keyboard.press('j');
    await tabTo(runs[1] ?? '');
    await keyboard.press('Enter');
    await expect.poll(() => new URL(journey.page.url()).pathname).toBe(`/runs/${encodeURIComponent(runs[1] ?? '')}`);
    await open('/');
    await tabTo(runs[1] ?? '');
    await keyboard.press('j');
    await keyboard.press('Enter');
    await expect.poll(() => new URL(journey.page.url()).pathname).toBe(`/runs/${encodeURIComponent(runs[0] ?? '')}`);

    await open(`${run}/curves?series=reward`);
    await journey.page.locator('.u-over').nth(1).waitFor();
    const steps = () => journey.page.evaluate<string[]>("[...document.querySelectorAll('.chart')].map((one) => one.dataset.step ?? '')");
    for (const key of ['ArrowRight', 'ArrowLeft', 'ArrowLeft']) await keyboard.press(key);
    await expect.poll(async () => (await steps())[0]).toMatch(/^step \d+$/);
    expect(new Set(await steps()).size).toBe(1);
    const first = () => Number(new URL(journey.page.url()).searchParams.get('from'));
    const shown = (step: number) => text(`Steps ${Math.max(1, step).toLocaleString('en-US')} to`);
    await keyboard.press('+');
    await journey.page.waitForURL(/from=\d+&to=\d+/);
    const closer = first();
    await shown(closer);
    await keyboard.press('-');
    await expect.poll(first).toBeLessThan(closer);
    await shown(first());
    await keyboard.press('ArrowLeft');
    const [chosen = ''] = await steps();
    await keyboard.press('?');
    for (const does of ['Cursor to the next point', 'Zoom in at the cursor', 'Open the step at the cursor'])
      await journey.page.locator('dialog dd', { hasText: does }).waitFor();
    await keyboard.press('Escape');
    await journey.page.locator('dialog').waitFor({ state: 'detached' });
    await keyboard.press('Enter');
    await journey.page.locator('h1', { hasText: new RegExp(`^${chosen}$`, 'i') }).waitFor();

    await open(`${run}/flow?until=2026-11-20T08:20:00.000Z`);
    await journey.page.locator('svg.strip').waitFor();
    await keyboard.press(']');
    await expect.poll(() => new URL(journey.page.url()).searchParams.get('until') ?? '').toMatch(/T08:(3|4)\d/);
  });

  it('opens any page by typing its name', async () => {
    await open(run);
    await journey.page.keyboard.press('Control+k');
    await journey.page.keyboard.type('ledger');
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('h1', { hasText: 'Ledger' }).waitFor();
    await journey.page.keyboard.press('g');
    await journey.page.keyboard.press('f');
    await journey.page.locator('h1', { hasText: 'Flow' }).waitFor();
  });

  const pages = [
    ...['/', run, `${run}/trajectories`, `${run}/t/${longTrajectory}?turn=5`, `${run}/steps/50`, `${run}/tools/search`, '/sql?q=SELECT+1'],
    `${run}/diff?a=${longRun}-g000003.1%230&b=${longRun}-g000004.1%230`,
    ...['flow', 'advisories', 'dropped', 'questions', 'questions/q-1', 'tools', 'workers', 'ledger', 'curves', 'steps'].map(
      (page) => `${run}/${page}`,
    ),
    `${run}/groups/${longTrajectory.replace(/\.\d+$/, '')}`,
    ...[`/compare?runs=${longRun},${storyRun}`, '/evaluations', '/evaluations/eval-1', '/live', '/dead-letters'],
    `/search?run=${longRun}&q=coastline`,
  ];
  const width = (): Promise<number> => journey.page.evaluate<number>('document.documentElement.scrollWidth');
  /** Serious accessibility findings in the light theme, which is active, and in the dark theme. */
  const barriers = async (): Promise<readonly string[]> => {
    const light = await journey.barriers();
    await journey.page.emulateMedia({ colorScheme: 'dark' });
    const dark = await journey.barriers();
    await journey.page.emulateMedia({ colorScheme: 'light' });
    return [...light, ...dark.map((one) => `dark: ${one}`)];
  };

  it('has no accessibility barriers on its pages, light and dark, and no page is wider than a screen or a phone', async () => {
    await journey.page.emulateMedia({ colorScheme: 'light' });
    for (const path of pages) {
      await open(path);
      expect(await barriers(), path).toEqual([]);
      expect(await width(), path).toBe(1_280);
      await journey.page.setViewportSize({ width: 390, height: 800 });
      // charts are resized in the next frames
      await expect.poll(width, { message: path }).toBe(390);
      await journey.page.setViewportSize({ width: 1_280, height: 800 });
    }
  }, 300_000);

  it('has no accessibility barriers in its dialogs and where it has nothing to show, light and dark', async () => {
    await journey.page.emulateMedia({ colorScheme: 'light' });
    await open(run);
    for (const key of ['?', 'Control+k']) {
      await journey.page.keyboard.press(key);
      await journey.page.locator('dialog').waitFor();
      expect(await barriers(), key).toEqual([]);
      await journey.page.keyboard.press('Escape');
      await journey.page.locator('dialog').waitFor({ state: 'detached' });
    }
    journey.mayFail('status of 404', 'status of 400', 'status of 403');
    const states = [
      `${run}/nowhere`,
      '/runs/nobody/ledger',
      `${run}/trajectories?min_reward=9`,
      `/sql?q=${encodeURIComponent('SELECT nothing')}`,
    ];
    for (const path of [...states, `/runs/${storyRun}/workers`, `${run}/diff`]) {
      await open(path);
      await journey.page.locator('.state').first().waitFor();
      expect(await barriers(), path).toEqual([]);
    }
  });
});
