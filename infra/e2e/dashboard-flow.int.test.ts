// Journeys through the flow of a run and through comparisons of runs, in a real Chromium.
import { describe, expect, it } from 'vitest';
import { longRun } from '../testing/dashboard-world.ts';
import { storyRun } from '../testing/api-story.ts';
import { hasChromium, startJourneys } from '../testing/journeys.ts';

const run = `/runs/${longRun}`;

/** Runs in the page. Number of pixels of the flow in the color of what is too old, in the light theme. */
const LATE_PIXELS = `(() => {
  const canvas = document.querySelector('canvas.flow');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const isLate = (at) => data[at] === 0xb3 && data[at + 1] === 0x26 && data[at + 2] === 0x1e && data[at + 3] === 255;
  return Array.from({ length: data.length / 4 }, (_, at) => 4 * at).filter(isLate).length;
})()`;

describe.skipIf(!hasChromium)('the flow and comparisons on the dashboard', () => {
  const journey = startJourneys();
  const { open } = journey;
  const text = (wanted: string | RegExp) => journey.page.getByText(wanted).first().waitFor();

  it('draws the flow, zooms, and restores the same window from the address', async () => {
    await open(`${run}/flow`);
    await text(/All [\d,]+ trajectories/);
    await journey.page.locator('canvas.flow').hover({ position: { x: 600, y: 60 } });
    await text(/flew .*, (trained|discarded|open)/);
    await journey.page.mouse.wheel(0, -400);
    await journey.page.waitForURL(/from=\d+&to=\d+/);
    const zoomed = journey.page.url();
    await journey.page.reload();
    await journey.page.locator('canvas.flow').waitFor();
    expect(journey.page.url()).toBe(zoomed);
    await journey.page.keyboard.press('2');
    await journey.page.locator('.chip[aria-pressed=false]', { hasText: 'discarded' }).waitFor();
    await journey.page.locator('canvas.flow').click({ position: { x: 600, y: 60 } });
    await journey.page.locator('.fate').waitFor();
  });

  it('marks what is too old in the flow, and selects and opens trajectories with keys', async () => {
    await open(`${run}/flow`);
    await text('the time after that is red');
    await expect.poll(() => journey.page.evaluate<number>(LATE_PIXELS)).toBeGreaterThan(100);
    const { keyboard } = journey.page;
    const said = journey.page.locator('[role=status]', { hasText: 'flew' });
    await keyboard.press('n');
    const first = await said.innerText();
    await keyboard.press('n');
    await expect.poll(() => said.innerText()).not.toBe(first);
    await keyboard.press('p');
    await expect.poll(() => said.innerText()).toBe(first);
    await keyboard.press('Enter');
    await journey.page.locator('.fate').waitFor();
    expect(first).toContain(decodeURIComponent(new URL(journey.page.url()).pathname.split('/t/')[1] ?? ''));
  });

  it('scrolls to every lane of a flow in which a thousand trajectories run at once', async () => {
    const start = "toDateTime64('2026-11-20 08:00:00', 6, 'UTC')";
    await journey.world.store.command(
      `insert into trajectories (run_id, group_id, trajectory_id, attempt, purpose, worker_id, question_id, status, version_first, version_last,
         started_at, finished_at, occurred_at, _topic, _partition, _offset, _timestamp)
       select 'wide', 'g', concat('wide-', toString(number)), 0, 'train', 'w', 'q', 'answered', 0, 0,
         ${start} + toIntervalMillisecond(number * 10), ${start} + toIntervalSecond(60), ${start}, 'turnstream.rollouts', 9, number, ${start}
       from numbers(1000)`,
    );
    await open('/runs/wide/flow');
    await text('Not all of the 1,000 lanes fit');
    const lanes = journey.page.locator('.lanes');
    const scrolled = () => lanes.evaluate((element: { readonly scrollTop: number }) => element.scrollTop);
    await journey.page.keyboard.press('ArrowDown');
    await expect.poll(scrolled).toBeGreaterThan(200);
    await journey.page.keyboard.press('p');
    await text(/wide-999 .*flew/);
    await expect.poll(scrolled).toBeGreaterThan(1_400);
    await lanes.hover({ position: { x: 600, y: 554 } });
    await text(/wide-99[0-8] .*flew/);
    const box = await lanes.boundingBox();
    if (box === null) throw new Error('the lanes have no place');
    await journey.page.mouse.down();
    for (const y of [154, 554]) await journey.page.mouse.move(box.x + 600, box.y + y, { steps: 3 });
    await journey.page.mouse.up();
    await expect.poll(scrolled).toBeLessThan(1_100);
    expect(await journey.barriers()).toEqual([]);
  });

  it('overlays runs and lists their differences', async () => {
    await open('/compare');
    await text('Choose two or more runs.');
    await journey.page.locator('.chip', { hasText: longRun }).click();
    await journey.page.locator('.chip', { hasText: storyRun }).click();
    await journey.page.locator('[aria-label=Differences] td', { hasText: 'dataset' }).waitFor();
    await expect.poll(() => journey.page.locator('.u-over').count()).toBe(6);
    await journey.page.getByText('First difference of the ledgers').click();
    await text('First difference: step 1');
  });

  it('compares six runs with at most six requests: curves with bands, costs, questions won and lost, and what it leaves out', async () => {
    const { store } = journey.world;
    const copies = [1, 2, 3, 4].map((number) => `copy-${number}`);
    const copy = (table: string, replaced: string): Promise<void> =>
      store.command(`insert into ${table} select * replace (${replaced}) from (select * from ${table} where run_id = '${storyRun}')`);
    for (const one of copies) await copy('run_events', `'${one}' as run_id`);
    await copy('trajectories', `'copy-1' as run_id, 2 as reward`);
    const asked: string[] = [];
    journey.page.on('request', (request) => {
      if (/\/v1\/(?!live)/.test(request.url())) asked.push(request.url());
    });
    await open(`/compare?runs=${[longRun, storyRun, ...copies, 'seventh'].join()}`);
    await text('Left out: seventh');
    await text(`${longRun}: 1 point = 14 steps: last value, band from least to most; ${storyRun}: every step; copy-1 has no steps here`);
    await expect.poll(() => journey.page.locator('.u-over').count()).toBe(6);
    await journey.page.locator('[aria-label=Differences] td', { hasText: 'cost: train seconds per reward' }).waitFor();
    const row = journey.page.locator('[aria-label="Same questions"] tbody tr', { hasText: 'copy-1' });
    await expect.poll(async () => (await row.locator('td').allInnerTexts()).slice(0, 5)).toEqual(['copy-1', '1', '0', '1', '0']);
    expect(asked.length, asked.join()).toBeLessThanOrEqual(6);
    await journey.page.locator('.chip', { hasText: 'seventh' }).click();
    await journey.page.waitForURL((url) => !url.href.includes('seventh'));
    await row.getByRole('link', { name: 'Each question' }).click();
    await journey.page.locator('td', { hasText: 'q-0' }).first().waitFor();
  });

  it('says which runs it cannot lay over the curves', async () => {
    journey.mayFail('status of 404');
    await open(`${run}/curves?series=reward&with=nobody,${storyRun},nobody-2,fourth`);
    await text('reading run nobody: there is none of that name');
    await text(`${storyRun}: every step`);
    await text('Left out: fourth');
    await journey.page.locator('.chart', { hasText: storyRun }).first().waitFor();
    expect(await journey.page.locator('.chart', { hasText: 'nobody' }).count()).toBe(0);
  });
});
