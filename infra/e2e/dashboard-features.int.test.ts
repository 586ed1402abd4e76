// Journeys through the detailed views of one run: sort orders and columns, shortcuts, the ledger, tools, and comparisons.
import { describe, expect, it } from 'vitest';
import { deferred } from '../../streams/core/waiting.ts';
import { seedTokenTurn, tokenTurn } from '../testing/dashboard-figures.ts';
import { BROKEN_ENTRY, brokenRun, intactRun, seedLedgers } from '../testing/dashboard-ledger.ts';
import { SPIKE_STEP, SPIKY_STEPS, seedSpikyRun, spikyRun } from '../testing/dashboard-spike.ts';
import { LONG_TURNS, longRun, longTrajectory, NEEDLE } from '../testing/dashboard-world.ts';
import { storyRun } from '../testing/api-story.ts';
import { outgoing } from '../testing/events.ts';
import { hasChromium, startJourneys } from '../testing/journeys.ts';
import { turn } from '../testing/rollout-events.ts';

const run = `/runs/${longRun}`;

/** Runs in the page. For each pixel column of the first chart, returns the topmost pixel in the color of the line. */
const TOPS_OF_LINE = `(() => {
  const canvas = document.querySelector('.chart canvas');
  const [whole, plot] = [canvas, document.querySelector('.chart .u-over')].map((one) => one.getBoundingClientRect());
  const ratio = canvas.width / whole.width;
  const [width, height] = [plot.width, plot.height].map((px) => Math.floor(px * ratio));
  const { data } = canvas.getContext('2d').getImageData((plot.left - whole.left) * ratio, (plot.top - whole.top) * ratio, width, height);
  const isLine = (at) => data[at + 3] > 10 && data[at + 2] - data[at] > 40;
  return Array.from({ length: width }, (_, x) => {
    let y = 0;
    while (y < height && !isLine(4 * (y * width + x))) y += 1;
    return y;
  });
})()`;

/** Runs in the page: whether each caption has the last values, which are also in the label of its chart. */
const SHOWS_LAST_VALUES = `[...document.querySelectorAll('.chart')].every((chart) => {
  const [said] = chart.querySelector('[role=img]').ariaLabel.split(' at step ');
  const values = said.slice(said.indexOf(': ') + 2).split(', ').map((part) => part.slice(part.indexOf(' ') + 1));
  return [...chart.querySelectorAll('output')].every((output, at) => output.textContent === values[at]);
})`;

describe.skipIf(!hasChromium)('the dashboard in depth', () => {
  const journey = startJourneys();
  const { open } = journey;
  const text = (wanted: string | RegExp) => journey.page.getByText(wanted).first().waitFor();
  const press = (...keys: readonly string[]) =>
    keys.reduce((before, key) => before.then(() => journey.page.keyboard.press(key)), Promise.resolve());
  const cells = (at: number) => journey.page.locator(`.body .row > :nth-child(${at})`).allInnerTexts();
  const selected = () => journey.page.locator('.turn-row[aria-selected=true] .number').first().innerText();

  it('sorts trajectories, filters them by fate, shows the selected columns, and restores all of it from the address', async () => {
    await open(`${run}/trajectories?fate=discarded`);
    await journey.page.locator('[role=columnheader] button', { hasText: 'Reward' }).click();
    await journey.page.waitForURL(/sort=reward/);
    await expect.poll(async () => (await cells(2)).slice(0, 3)).toEqual(['1', '1', '1']);
    await journey.page.locator('[role=columnheader] button', { hasText: 'Reward' }).click();
    await journey.page.waitForURL(/order=asc/);
    await expect.poll(async () => (await cells(2))[0]).toBe('0');
    await journey.page.locator('.choice summary').click();
    await journey.page.locator('.choice .chip', { hasText: 'Worker' }).click();
    await journey.page.locator('.choice .chip', { hasText: 'F1' }).click();
    await journey.page.waitForURL(/columns=/);
    await journey.page.reload();
    await journey.page.locator('[aria-sort=ascending]', { hasText: 'Reward' }).waitFor();
    const heads = await journey.page.locator('[role=columnheader]').allInnerTexts();
    expect([heads.includes('Worker'), heads.includes('F1')]).toEqual([true, false]);
    for (const row of await journey.page.locator('.body .row').allInnerTexts()) expect(row).toContain('discarded');
    expect(await journey.barriers()).toEqual([]);
  });

  it('goes one level up to the list as it was left, and opens rows in new tabs, with shortcuts', async () => {
    await open(`${run}/trajectories?sort=turns`);
    await journey.page.locator('.body .row').first().waitFor();
    await press('j', 'j', 'j');
    const chosen = await journey.page.locator('.row[aria-selected=true] a').getAttribute('href');
    const [tab] = await Promise.all([journey.page.context().waitForEvent('page'), press('Shift+Enter')]);
    expect(tab.url()).toBe(`${journey.world.url}${chosen ?? ''}`);
    await tab.close();
    await press('Enter');
    await journey.page.locator('.fate').waitFor();
    await press('Escape');
    await journey.page.waitForURL(/trajectories\?sort=turns$/);
    await expect.poll(() => journey.page.locator('.row[aria-selected=true] a').getAttribute('href')).toBe(chosen);
    await press('Escape', 'Escape');
    await journey.page.locator('h1', { hasText: 'Runs' }).waitFor();
  });

  it('shows the first of 30,000 turns before the others, and goes to the last one as soon as it is there', async () => {
    const { page } = journey;
    const arrival = deferred();
    await page.route(/\/outline\?((?!limit=).)*$/, (route) => arrival.promise.then(() => route.continue()));
    await page.goto(`${journey.world.url}${run}/t/${longTrajectory}?attempt=0`);
    await text('first 500 turns');
    await press('End');
    await expect.poll(selected).toBe('499');
    arrival.resolve();
    await expect.poll(selected).toBe(String(LONG_TURNS - 1));
    await text('30,000 turns');
    await page.waitForURL(`**turn=${LONG_TURNS - 1}`);
  });

  it('lists its shortcuts, copies requests as commands, and switches from ages to times', async () => {
    await journey.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await open(`${run}/steps`);
    await press('c');
    await text(/Copied .*curl command/);
    const copied = await journey.page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toContain(`curl -s '${journey.world.url}/v1/runs/${longRun}/steps?order=desc&limit=100'`);
    expect(await journey.page.locator('td time').first().innerText()).toMatch(/ago$/);
    await press('.');
    await expect.poll(() => journey.page.locator('td time').first().innerText()).toMatch(/^\d{4}-\d\d-\d\d \d\d:/);
    await open(`${run}/t/${longTrajectory}`);
    await press('?');
    for (const does of [
      'up one level',
      'as curl',
      'exact times',
      'Compare to the marked one',
      'Follow the newest turn',
      'To the tool call',
    ])
      await journey.page.locator('dialog dd', { hasText: does }).waitFor();
    expect(await journey.barriers()).toEqual([]);
    await press('Escape');
    await journey.page.locator('dialog').waitFor({ state: 'detached' });
    expect(journey.page.url()).toContain('/t/');
  });

  it('shows the last values in the captions of its charts after the cursor leaves, and those of other steps after a zoom', async () => {
    const showsLast = () => journey.page.evaluate<boolean>(SHOWS_LAST_VALUES);
    await open(run);
    await journey.page.locator('.chart').nth(8).waitFor();
    await expect.poll(showsLast).toBe(true);
    // what loads above the charts can still move them away from under the mouse
    const hoverThenLook = async (): Promise<boolean> => {
      await journey.page.locator('.u-over').first().hover();
      return showsLast();
    };
    await expect.poll(hoverThenLook).toBe(false);
    await journey.page.mouse.move(0, 0);
    await expect.poll(showsLast).toBe(true);
    const zoomed = "void (history.pushState(null, '', '?from=1000&to=1200'), dispatchEvent(new PopStateEvent('popstate')))";
    await journey.page.evaluate<undefined>(zoomed);
    await text('Steps 1,000 to 1,200, every step');
    await expect.poll(showsLast).toBe(true);
  });

  it('has the selected turn in its address after a key was held', async () => {
    await open(`${run}/t/${longTrajectory}?view=waterfall&turn=0`);
    await expect.poll(selected).toBe('0');
    for (let at = 0; at < 300; at += 1) await press('j');
    const inAddress = () => new URL(journey.page.url()).searchParams.get('turn');
    await expect.poll(async () => (await selected()) === inAddress()).toBe(true);
    expect(Number(inAddress())).toBeGreaterThan(200);
  });

  it('compares two marked attempts beyond their first turns', async () => {
    await open(`${run}/t/${longTrajectory}`);
    await press('m');
    await text(`Marked ${longTrajectory}#0`);
    await journey.page.evaluate<undefined>(
      `void (history.pushState(null, '', '${run}/t/${longRun}-g000003.1'), dispatchEvent(new PopStateEvent('popstate')))`,
    );
    await text(`${longRun}-g000003.1`);
    await press('d');
    await journey.page.waitForURL(/\/diff\?a=/);
    const status = () => journey.page.locator('[aria-label=Difference] [role=status]').innerText();
    await expect.poll(status).toMatch(/so far/);
    const before = Number((await status()).match(/^[\d,]+/)?.[0].replace(',', ''));
    await journey.page.getByText('More turns').click();
    await expect.poll(async () => Number((await status()).match(/^[\d,]+/)?.[0].replace(',', ''))).toBeGreaterThan(before);
    await journey.page.reload();
    await expect.poll(status).toMatch(/so far/);
    expect(await journey.barriers()).toEqual([]);
  });

  it('follows a running attempt until the reader selects another turn', async () => {
    const trajectory = `${storyRun}-g1-0.0`;
    await open(`/runs/${storyRun}/t/${trajectory}`);
    await press('f');
    await expect.poll(selected).toBe('1');
    await journey.page.locator('.live', { hasText: '●' }).waitFor();
    const row = `select * replace (2 as turn, _offset + 5000 as _offset) from turns where run_id = '${storyRun}' and trajectory_id = '${trajectory}'`;
    await journey.world.store.command(`insert into turns ${row} order by turn desc limit 1`);
    await journey.world.log.writer().append([outgoing('TurnRecorded', turn({ run: storyRun, trajectory, sequence: 9 }, 1))]);
    await expect.poll(selected).toBe('2');
    await press('k');
    await expect.poll(() => journey.page.url()).not.toContain('follow');
    await journey.world.store.command(
      `alter table turns delete where _offset >= 5000 and run_id = '${storyRun}' settings mutations_sync = 2`,
    );
  });

  it('says whether the ledger is an unbroken chain, where it breaks, and where two runs first differ', async () => {
    await seedLedgers(journey.world.store);
    await open(`/runs/${intactRun}/ledger`);
    await text('All checks of the tables passed.');
    expect(await journey.page.locator('.checks .good').count()).toBe(5);
    await journey.page.locator('select').selectOption(brokenRun);
    await text('First difference: step 8');
    await open(`/runs/${brokenRun}/ledger?with=${intactRun}`);
    await text('First difference: step 8');
    await journey.page.locator('[aria-label="Verify state"] [role=status]', { hasText: `First at entry ${BROKEN_ENTRY}` }).waitFor();
    expect(await journey.barriers()).toEqual([]);
  });

  it('draws steps in the flow, and shows when a trajectory becomes too old', async () => {
    await open(`${run}/flow`);
    await text(/green ticks at the top are the [\d,]+ steps/);
    await journey.page.locator('canvas.flow').hover({ position: { x: 600, y: 60 } });
    await text(/bound (reached .* after its start|of \d+ versions not reached)/);
  });

  it('limits discards to the steps that the reader selects by dragging', async () => {
    await open(`${run}/dropped`);
    const brush = journey.page.locator('.brush svg');
    const box = await brush.boundingBox();
    if (box === null) throw new Error('the brush has no place');
    await journey.page.mouse.move(box.x + box.width * 0.05, box.y + 20);
    await journey.page.mouse.down();
    await journey.page.mouse.move(box.x + box.width * 0.2, box.y + 20, { steps: 4 });
    await journey.page.mouse.up();
    await journey.page.waitForURL(/from=\d+&to=\d+/);
    const from = new URL(journey.page.url()).searchParams.get('from');
    expect(Number(from)).toBeGreaterThan(150);
    await expect.poll(() => journey.page.locator('[aria-label="By step"] tbody td').first().innerText()).toBe(from);
    await press('z');
    await expect.poll(() => journey.page.url()).not.toContain('from=');
  });

  it('shows one tool: its latencies, failures, and slowest calls', async () => {
    await open(`${run}/tools`);
    await journey.page.locator('[aria-label=Tools] a', { hasText: 'search' }).click();
    await journey.page.locator('h1', { hasText: 'Tool search' }).waitFor();
    await journey.page.locator('svg[aria-label^="Latencies from"]').waitFor();
    await journey.page.locator('[aria-label="Error types"] td', { hasText: 'timeout' }).first().waitFor();
    expect(await journey.page.locator('[aria-label="Slowest calls"] tbody tr').count()).toBe(20);
    await journey.page.locator('[aria-label="Slowest calls"] a').first().click();
    await journey.page.locator('.pane', { hasText: 'search' }).waitFor();
  });

  it('searches a trajectory and a run with a regular expression, and explains errors in it', async () => {
    const regex = encodeURIComponent('Oua\\w+gou');
    await open(`${run}/t/${longTrajectory}?find=${regex}&as=regex`);
    await journey.page.locator('.bar [role=status]', { hasText: '1 turn' }).waitFor();
    await press('n');
    await expect.poll(selected).toBe(String(NEEDLE.turn));
    const marked = "[...(CSS.highlights.get('found') ?? [])].map(String)";
    await expect.poll(() => journey.page.evaluate<string[]>(marked)).toEqual([NEEDLE.word]);
    await open(`/search?run=${longRun}&q=${regex}&as=regex`);
    expect(await journey.page.locator('.matches a').count()).toBe(1);
    journey.mayFail('status of 400');
    await open(`/search?run=${longRun}&q=%28&as=regex`);
    await journey.page.locator('[role=alert]', { hasText: 'regular expression' }).waitFor();
  });

  it('goes from attempt to attempt and on to the group mates, and keeps the view', async () => {
    await open(`${run}/t/${longRun}-g000003.1?view=raw`);
    await journey.page.locator('.pane pre', { hasText: '"prompt_ids"' }).waitFor();
    const shown = () => journey.page.locator('[aria-label="Group mates"] [aria-current=page]').innerText();
    await expect.poll(shown).toMatch(/^1: [\d.]+$/);
    expect(await journey.page.locator('[aria-label="Group mates"] a').count()).toBe(4);
    for (const [key, sample] of [
      ['l', '2'],
      ['l', '3'],
      ['h', '2'],
    ] as const) {
      await press(key);
      await journey.page.locator('[aria-label="Group mates"] [aria-current=page]', { hasText: new RegExp(`^${sample}:`) }).waitFor();
    }
    expect(journey.page.url()).toContain(`/t/${longRun}-g000003.2?`);
    expect(new URL(journey.page.url()).searchParams.get('view')).toBe('raw');
  });

  it('shows every tool call of a turn that made several', async () => {
    const trajectory = `${longRun}-g000005.0`;
    const further = `['lookup'] as more_tools, ['{"page":7}'] as more_tool_arguments, ['error'] as more_tool_statuses,
      ['not_found'] as more_tool_error_types, [12.5] as more_tool_ms, ['No such page.'] as more_tool_results,
      [13] as more_tool_result_chars`;
    const like = `select * from turns where run_id = '${longRun}' and trajectory_id = '${trajectory}' and turn = 2 limit 1`;
    await journey.world.store.command(
      `insert into turns select * replace (3 as turn, _offset + 900000 as _offset, ${further}) from (${like})`,
    );
    for (const view of ['turn', 'transcript']) {
      await open(`${run}/t/${trajectory}?turn=3&view=${view}`);
      await journey.page.locator('.pane h3', { hasText: 'Called lookup' }).locator('.badge.bad', { hasText: 'not_found' }).waitFor();
      await journey.page.locator('.pane pre', { hasText: 'No such page.' }).waitFor();
    }
    await journey.world.store.command(
      `alter table turns delete where _offset >= 900000 and run_id = '${longRun}' settings mutations_sync = 2`,
    );
  });

  it('colors tokens by the advantage of their trajectory', async () => {
    await seedTokenTurn(journey.world.store);
    const { trajectory } = tokenTurn;
    await journey.world.store.command(`insert into step_trajectories (run_id, step, group_id, trajectory_id, attempt, advantage, at)
      values ('${longRun}', 9, '${longRun}-tokens', '${trajectory}', 0, 1.25, '2026-11-21 08:00:00')`);
    await open(`${run}/t/${trajectory}?view=tokens&by=advantage`);
    await text(/The advantage of the trajectory is 1.25/);
    const shades = "[...CSS.highlights].filter(([name]) => name === 'token-2').flatMap(([, of]) => [...of]).length";
    await expect.poll(() => journey.page.evaluate<number>(shades)).toBe(tokenTurn.tokens.length);
  });

  it('completes names in a statement, and shows its result as a table or a chart', async () => {
    await open('/sql');
    await journey.page.locator('[aria-label=Tables] summary', { hasText: 'steps' }).first().waitFor();
    await press('/', 'Control+a');
    await journey.page.keyboard.type('SELECT step, reward_mean FROM step');
    await journey.page
      .locator('[role=option]', { hasText: /^steps\b/ })
      .first()
      .click();
    await expect.poll(() => journey.page.locator('textarea').inputValue()).toMatch(/FROM steps$/);
    await journey.page.keyboard.type(` WHERE run_id = '${longRun}' ORDER BY step LIMIT 50`);
    await press('Escape', 'Control+Enter');
    await expect.poll(() => journey.page.locator('[aria-label=Rows] tbody tr').count()).toBe(50);
    await journey.page.locator('.chip', { hasText: 'chart' }).click();
    await journey.page.waitForURL(/view=chart/);
    await journey.page.reload();
    await journey.page.locator('svg.sql-chart polyline').waitFor();
    expect(await journey.barriers()).toEqual([]);
  });

  it('shows staleness and its limit over the steps of a run', async () => {
    await open(`${run}/curves`);
    const chart = journey.page.locator('.chart', { hasText: 'Staleness' }).first();
    await chart.locator('canvas').waitFor();
    expect(Number(await chart.locator('output').first().innerText())).toBeGreaterThan(0);
    await open(run);
    await text('bound 4');
  });

  it('draws a single spike among 50,000 steps in 600 pixels, at the right position', async () => {
    await seedSpikyRun(journey.world.store);
    await journey.page.setViewportSize({ width: 680, height: 800 });
    await open(`/runs/${spikyRun}`);
    const chart = journey.page.locator('.chart').first();
    await chart.locator('.u-over').waitFor();
    const box = await chart.locator('.u-over').boundingBox();
    expect(box?.width).toBeLessThan(660);
    const tops = await journey.page.evaluate<readonly number[]>(TOPS_OF_LINE);
    const highest = Math.min(...tops);
    const at = tops.indexOf(highest);
    expect(Math.abs((at / tops.length) * SPIKY_STEPS - SPIKE_STEP)).toBeLessThan(SPIKY_STEPS / 100);
    const others = tops.filter((_, column) => Math.abs(column - at) > 5);
    expect(Math.min(...others) - highest).toBeGreaterThan(30);
  });
});
