// Journeys through lists that grow while they are read, or that are longer than their first page.
import { describe, expect, it } from 'vitest';
import { topicOf } from '../../schemas/subjects.ts';
import { storyRun } from '../testing/api-story.ts';
import { outgoing, randomEvent, seeded } from '../testing/events.ts';
import { hasChromium, startJourneys } from '../testing/journeys.ts';
import { turn } from '../testing/rollout-events.ts';

describe.skipIf(!hasChromium)('the lists of the dashboard', () => {
  const journey = startJourneys({ short: true });
  const { open } = journey;
  const button = (name: string) => journey.page.getByRole('button', { name });
  const selected = () => journey.page.locator('tr[aria-selected=true] a').first().innerText();
  const cells = () => journey.page.locator('tbody td:first-child a').allInnerTexts();
  const isLive = () => journey.page.locator('.top .live', { hasText: '●' }).waitFor();

  /** Makes pages of runs one run long. */
  const shortenPages = () =>
    journey.page.route(/\/v1\/runs\?limit=200/, (route) => route.continue({ url: route.request().url().replace('limit=200', 'limit=1') }));

  async function addRun(run: string, day: number): Promise<void> {
    await journey.world.store.command(`insert into run_events
      select * replace ('${run}' as run_id, toDateTime64('2030-01-0${day} 00:00:00', 6, 'UTC') as at)
      from run_events as known where known.run_id = '${storyRun}' and known.event = 'started' limit 1`);
    const event = randomEvent('RunStarted', seeded(day), { run_id: run });
    await journey.world.log.writer().append([outgoing('RunStarted', event)]);
  }

  it('shows all runs, a page at a time, and keeps the selected run when another one starts', async () => {
    await addRun('run-b', 1);
    await shortenPages();
    await open('/');
    await expect.poll(cells).toEqual(['run-b']);
    await isLive();
    await journey.page.keyboard.press('j');
    expect(await selected()).toBe('run-b');
    await button('More runs').click();
    await expect.poll(cells).toEqual(['run-b', storyRun]);
    await button('More runs').waitFor({ state: 'detached' });
    await addRun('run-c', 2);
    await expect.poll(cells).toEqual(['run-c', 'run-b']);
    expect(await selected()).toBe('run-b');
    await button('More runs').click();
    await expect.poll(cells).toEqual(['run-c', 'run-b', storyRun]);
  });

  it('offers older runs for a search', async () => {
    await addRun('run-d', 3);
    await shortenPages();
    await open('/search');
    const options = journey.page.locator('select[name=run] option');
    await expect.poll(() => options.count()).toBe(1);
    await button('More runs').click();
    await expect.poll(() => options.count()).toBe(2);
  });

  it('counts new steps, shows them on request, and opens the selected step', async () => {
    await open(`/runs/${storyRun}/steps`);
    await expect.poll(cells).toEqual(['3', '2', '1']);
    await isLive();
    for (const key of ['j', 'j']) await journey.page.keyboard.press(key);
    for (const [table, more] of Object.entries({ steps: ', 4 as version_after', step_figures: '' })) {
      const row = `select * replace (toInt32(4) as step${more}) from ${table} as last where run_id = '${storyRun}' and last.step = 3`;
      await journey.world.store.command(`insert into ${table} ${row}`);
    }
    const event = randomEvent('StepCompleted', seeded(4), { run_id: storyRun, step: 4, version_before: 3, version_after: 4 });
    await journey.world.log.writer().append([outgoing('StepCompleted', event)]);
    await button('1 since: show').waitFor();
    expect(await cells()).toEqual(['3', '2', '1']);
    await button('1 since: show').click();
    await expect.poll(cells).toEqual(['4', '3', '2', '1']);
    expect(await selected()).toBe('2');
    await journey.page.keyboard.press('G');
    await expect.poll(selected).toBe('1');
    await journey.page.keyboard.press('Enter');
    await journey.page.waitForURL(/\/steps\/1$/);
  });

  it('shows why it has no steps or no events', async () => {
    journey.mayFail('status of 404');
    const problem = () => journey.page.locator('[role=alert]', { hasText: 'NOT_FOUND' }).first().waitFor();
    await open('/runs/nobody/steps');
    await problem();
    expect(await journey.page.getByText('No step is trained yet').count()).toBe(0);
    await open('/live?run=nobody');
    await problem();
    expect(await journey.page.getByText('reconnects by itself').count()).toBe(0);
    expect(await journey.barriers()).toEqual([]);
  });

  it('follows every type of event, and hides a type', async () => {
    await open('/live');
    await isLive();
    const event = randomEvent('RunRewound', seeded(5), { run_id: storyRun, version: 9, to_version: 2 });
    await journey.world.log.writer().append([outgoing('RunRewound', event)]);
    await journey.page.locator('.tail-row', { hasText: 'version 9, to version 2' }).waitFor();
    await journey.page.locator('.choice summary').click();
    const types = journey.page.locator('[aria-label="Types of events"] button');
    expect(await types.count()).toBe(Object.keys(topicOf).length);
    expect(await journey.barriers()).toEqual([]);
    await types.filter({ hasText: 'RunRewound' }).click();
    await journey.page.waitForURL(/types=/);
    const shown = new URL(journey.page.url()).searchParams.get('types')?.split(',');
    expect([shown?.includes('RunRewound'), shown?.includes('BatchLeased')]).toEqual([false, true]);
  });

  function write(tool: string, count: number) {
    const event = turn({ run: storyRun, trajectory: 'tailed.0', sequence: 1 }, 1, { tool });
    return journey.world.log.writer().append(Array.from({ length: count }, () => outgoing('TurnRecorded', event)));
  }

  it('keeps the events that its filters select, however many others follow', async () => {
    await open('/live?tool=rare');
    await isLive();
    await write('rare-first', 1);
    for (let part = 0; part < 11; part += 1) await write('search', 200);
    await write('rare-last', 1);
    await journey.page.locator('.tail-row', { hasText: 'rare-last' }).waitFor();
    expect(await journey.page.locator('.tail-row', { hasText: 'rare-first' }).count()).toBe(1);
  });

  it('stops following when the reader scrolls down, and shows the newest event when it follows again', async () => {
    await open('/live');
    await isLive();
    await write('search', 100);
    await journey.page.getByText('100 of the newest events').waitFor();
    await journey.page.locator('.tail').hover();
    await journey.page.mouse.wheel(0, 400);
    await journey.page.waitForURL(/paused=1/);
    await write('newest', 1);
    await button('1 since: show').click();
    await journey.page.locator('.tail-row[aria-rowindex="1"]', { hasText: 'newest' }).waitFor();
  });

  it('does not list or count what was written while its tab was hidden for long, and says so', async () => {
    const hideForLong = async () => {
      const dispatch = "document.dispatchEvent(new Event('visibilitychange'))";
      const define = "Object.defineProperty(document, 'hidden', { get: () => globalThis.isHidden, configurable: true })";
      await journey.page.evaluate<undefined>(`void (${define}, (globalThis.isHidden = true), ${dispatch})`);
      await journey.page.locator('.top .live', { hasText: '○' }).waitFor();
      await write('search', 1);
      const asked = journey.page.waitForRequest(/\/v1\/live\?/);
      await journey.page.evaluate<undefined>(
        `void ((later) => (Date.now = () => later))(Date.now() + 3_600_000), void ((globalThis.isHidden = false), ${dispatch})`,
      );
      expect((await asked).url()).not.toContain('last_event_id');
      await isLive();
    };
    await open('/live');
    await isLive();
    await hideForLong();
    await journey.page.getByText('Events while this tab was hidden are not listed.').waitFor();
    expect(await journey.page.locator('.tail-row').count()).toBe(0);
    await open(`/runs/${storyRun}/steps`);
    await isLive();
    await hideForLong();
    await button('more since: show').click();
    await button('more since: show').waitFor({ state: 'detached' });
  });

  it('requests the bytes of one dead letter, in the list or not', async () => {
    const asked: string[] = [];
    journey.page.on('request', (request) => {
      if (request.url().includes('original_value_base64')) asked.push(request.url());
    });
    await open('/dead-letters');
    await journey.page.locator('tbody tr').first().waitFor();
    await journey.page.keyboard.press('j');
    await journey.page.locator('pre', { hasText: '6a 75 6e 6b' }).waitFor();
    expect(asked).toEqual([expect.stringMatching(/limit=1&topic=rollouts&partition=\d+&offset=\d+&/) as string]);
    const place = new URL(journey.page.url()).searchParams.get('open') ?? '';
    await open(`/dead-letters?reason=empty&open=${encodeURIComponent(place)}`);
    await journey.page.locator('pre', { hasText: '6a 75 6e 6b' }).waitFor();
    await open('/dead-letters?open=tasks/0/7');
    await journey.page.getByText('No dead letter has this place.').waitFor();
  });

  it('lists every answer to a question', async () => {
    const items = Array.from({ length: 501 }, (_, version) => ({
      ...{ version, answer: `answer ${version}`, tries: 1, right_answers: 0, reward_mean: 0.5, turns_mean: 2 },
      ...{ trajectory_id: `${storyRun}-g1-0.0`, attempt: 0 },
    }));
    await journey.page.route(/\/v1\/runs\/[^/]+\/questions\/q-long$/, (route) =>
      route.fulfill({ json: { question: 'Which one?', items, is_whole: true } }),
    );
    await open(`/runs/${storyRun}/questions/q-long`);
    const rows = journey.page.locator('[aria-label=Answers] tbody tr');
    await journey.page.getByText('The newest 500 of 501 answers.').waitFor();
    expect(await rows.count()).toBe(500);
    await button('More answers').click();
    await expect.poll(() => rows.count()).toBe(501);
    expect(await button('More answers').count()).toBe(0);
  });
});
