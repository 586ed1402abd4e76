// Untrusted texts of models, tools, and web pages must stay plain text; and the fates of samples must agree with the ledger.
import { describe, expect, it } from 'vitest';
import { storyRun } from '../testing/api-story.ts';
import { collectedRun, RARE, rewoundRun, seedRareFates, seedRetries } from '../testing/dashboard-ledger.ts';
import { longRun } from '../testing/dashboard-world.ts';
import { hostileEvaluation, hostileRun, hostileTexts, hostileTool, seedHostileRun } from '../testing/hostile-texts.ts';
import { linkWithTicket } from '../http/tickets.ts';
import { outgoing } from '../testing/events.ts';
import { turn } from '../testing/rollout-events.ts';
import { hasChromium, startJourneys } from '../testing/journeys.ts';

const allColumns = 'reward,status,fate,answer,worker_id,group_id,question_id,id';

interface SampleFate {
  readonly run: string;
  readonly id: string;
  readonly attempt: number;
  readonly step: number;
  readonly fate: string;
  readonly reason: string;
}

/** The stage that the page must show last, with whole numbers. */
function stageOf({ fate, step, reason }: SampleFate): RegExp {
  const stages: Readonly<Record<string, string>> = {
    trained: `trained in step ${step}`,
    discarded: `discarded: ${reason.replaceAll('_', ' ')}`,
    rewound: 'discarded: rewound',
    collected: `collected in batch ${step}`,
    late: 'not counted',
  };
  return new RegExp(`${stages[fate] ?? fate}\\b`);
}

describe.skipIf(!hasChromium)('the dashboard and its texts', () => {
  const journey = startJourneys();
  const { open } = journey;

  /** Opens the sample without loading the page again, and checks its stages. */
  const expectFate = async (sample: SampleFate): Promise<void> => {
    const { run, id, attempt, fate } = sample;
    const url = `/runs/${run}/t/${encodeURIComponent(id)}?attempt=${attempt}`;
    await journey.page.evaluate<undefined>(`void (history.pushState(null, '', '${url}'), dispatchEvent(new PopStateEvent('popstate')))`);
    const stages = journey.page.locator(`main:has-text("${id}") .fate`);
    await stages
      .locator('li')
      .last()
      .filter({ hasText: stageOf(sample) })
      .waitFor();
    if (!['trained', 'rewound'].includes(fate)) expect(await stages.innerText()).not.toContain('trained in step');
  };

  it('shows hostile texts as plain text on every page: no script, no CSP violation, no request to another host', async () => {
    await seedHostileRun(journey.world.store);
    await journey.page.addInitScript(
      "addEventListener('securitypolicyviolation', (event) => console.error('policy', event.violatedDirective))",
    );
    const run = `/runs/${hostileRun}`;
    const trajectory = encodeURIComponent(`${hostileRun}-g0.0`);
    const paths = [
      ...['/', run, `${run}/trajectories`, `${run}/flow`, `${run}/tools`, `${run}/workers`, `${run}/questions`, `${run}/dropped`],
      ...[`${run}/advisories`, `${run}/groups/${hostileRun}-g0`, `${run}/questions/${hostileRun}-q0`, '/dead-letters', '/evaluations'],
      ...[`${run}/t/${trajectory}?turn=0`, `${run}/t/${trajectory}?turn=1&find=script`, `/search?run=${hostileRun}&q=script`],
      ...[
        `/search?run=${hostileRun}&q=script&in=results`,
        `${run}/t/${trajectory}?turn=0&view=raw`,
        `${run}/t/${trajectory}?turn=0&view=tokens`,
        `${run}/t/${trajectory}?turn=0&view=transcript&find=script`,
      ],
      ...[`${run}/t/${trajectory}?turn=0&view=waterfall`, `${run}/steps`, `${run}/steps/1`, `${run}/ledger`, `${run}/curves`],
      ...[`/compare?runs=${hostileRun},${longRun}`, `/evaluations/${hostileEvaluation}`, `${run}/tools/${encodeURIComponent(hostileTool)}`],
      ...[`${run}/diff?a=${trajectory}%230&b=${encodeURIComponent(`${hostileRun}-g0.1`)}%230`, `${run}/trajectories?columns=${allColumns}`],
      `/sql?q=${encodeURIComponent(`SELECT text, tool, tool_arguments, tool_result FROM turns WHERE run_id = '${hostileRun}'`)}`,
    ];
    const hidden = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u;
    for (const path of paths) {
      await open(path);
      const made = await journey.page.evaluate<number>(
        "document.querySelectorAll('main script, main img, main iframe, main object, main [onerror], main [onload], main a[href^=javascript]').length",
      );
      expect([path, made, await journey.page.evaluate("'__hostile' in globalThis")]).toEqual([path, 0, false]);
      expect(await journey.page.locator('body').innerText(), path).not.toMatch(hidden);
    }
    // a run and an evaluation whose ids have hidden characters, in lists and where a run is chosen
    for (const path of ['/evaluations', '/']) {
      await open(path);
      await journey.page.locator('tbody a bdi', { hasText: 'run-‹U+202E›exe‹U+200B›' }).first().waitFor();
    }
    await journey.page.keyboard.press('Control+k');
    await journey.page.keyboard.type('exe');
    await journey.page.locator('#places bdi', { hasText: '‹U+202E›' }).waitFor();
    await open(`/search?run=${hostileRun}`);
    await journey.page.locator('option', { hasText: '‹U+202E›' }).waitFor({ state: 'attached' });
    await journey.page.goto(`${journey.world.url}/live`);
    await journey.page.locator('.live', { hasText: '●' }).waitFor();
    const events = hostileTexts
      .slice(0, 60)
      .map((words, sequence) =>
        outgoing('TurnRecorded', { ...turn({ run: hostileRun, trajectory: words, sequence }, 1), worker_id: words, tool: words }),
      );
    await journey.world.log.writer().append(events);
    await expect.poll(() => journey.page.locator('.tail-row').count()).toBeGreaterThan(10);
    expect(await journey.page.locator('.tail').innerText()).not.toMatch(hidden);
    expect(await journey.page.evaluate("'__hostile' in globalThis")).toBe(false);
    // every text was displayed
    await open(paths.at(-1) ?? '');
    const shown = await journey.page.locator('.scroller').innerText();
    expect(shown).toContain('<script>');
    expect(shown).toContain('‹U+202E›');
    expect(hostileTexts).toHaveLength(200);
    // hidden characters are marks everywhere in a turn, also in its worker and its reason to finish, and in the names of tools
    for (const [number, head] of [
      [4, 'h2'],
      [7, 'h3'],
    ] as const) {
      await open(`${run}/t/${encodeURIComponent(`${hostileRun}-g0.1`)}?attempt=0&turn=${number}&view=turn`);
      const pane = journey.page.locator('.pane');
      await pane.locator(`${head} bdi`, { hasText: '‹U+202E›' }).first().waitFor();
      expect(await pane.innerText()).toContain('‹U+FEFF›‹U+061C›‹U+00AD›‹U+034F›‹U+180E›‹U+2029›‹U+FE0F›‹U+E0041›‹U+E0100›');
      expect(await pane.innerText()).not.toMatch(hidden);
    }
    await open(run);
    await journey.page.locator('a[href*="trajectories?tool="] bdi', { hasText: '‹U+E0041›' }).first().waitFor();
  });

  it('shows the same fate as the ledger for 200 samples, including attempts that were given up and repeated', async () => {
    await seedRetries(journey.world.store);
    const rows = await journey.world.store.query<SampleFate>(
      `select *, {run:String} as run from (
         select trajectory_id as id, attempt, step, 'trained' as fate, '' as reason, 0 as kind from step_trajectories where run_id = {run:String}
         union all
         select trajectory_id, attempt, toInt32(version + 1), 'discarded', toString(reason), 1 from discarded_trajectories where run_id = {run:String}
         union all
         select trajectory_id, attempt, toInt32(-1), 'given up', toString(reason), 2 from expired_attempts
           where run_id = {run:String} and trajectory_id in (select trajectory_id from trajectories where run_id = {run:String})
       ) order by attempt = 0 and kind < 2, kind, cityHash64(id) limit 60 by attempt > 0, kind limit 200`,
      { params: { run: longRun } },
    );
    expect(rows).toHaveLength(200);
    expect(rows.filter(({ attempt }) => attempt > 0).length).toBeGreaterThan(50);
    expect(new Set(rows.map(({ fate }) => fate))).toEqual(new Set(['trained', 'discarded', 'given up']));
    await open(`/runs/${longRun}/steps/1`);
    for (const row of rows) await expectFate(row);
  });

  it('shows what the ledger says of samples that were collected, rewound, or finished after their group had closed', async () => {
    await seedRareFates(journey.world.store);
    const rows = await journey.world.store.query<SampleFate>(
      `select run_id as run, trajectory_id as id, attempt, batch as step, 'collected' as fate, '' as reason
       from collected_trajectories where run_id = {collected:String}
       union all
       select run_id, trajectory_id, attempt, step,
         if((run_id, step) in (select run_id, version from abandoned_versions), 'rewound', 'trained'), ''
       from step_trajectories where run_id = {rewound:String}
       union all
       select run_id, trajectory_id, attempt, toInt32(-1), 'late', '' from expired_attempts
       where run_id = {late:String} and (trajectory_id, attempt) in (select trajectory_id, attempt from trajectories where run_id = {late:String})`,
      { params: { collected: collectedRun, rewound: rewoundRun, late: longRun } },
    );
    const numbers = ['collected', 'rewound', 'trained', 'late'].map((fate) => rows.filter((row) => row.fate === fate).length);
    expect(numbers).toEqual([RARE, RARE / 2, RARE / 2, RARE]);
    await open(`/runs/${longRun}/steps/1`);
    for (const row of rows) await expectFate(row);
    // the list and the page agree
    await open(`/runs/${rewoundRun}/trajectories?fate=discarded`);
    await journey.page.locator('.body .row', { hasText: 'rewound' }).first().waitFor();
    expect(await journey.page.locator('.body .row').count()).toBe(RARE / 2);
  });

  it('opens the attempt that counts where an address names none, and names the attempt in every link and address', async () => {
    await seedRareFates(journey.world.store);
    await open(`/runs/${longRun}/t/${longRun}-f3.0`);
    await journey.page.waitForURL(/attempt=1/);
    await journey.page.locator('.fate', { hasText: /trained in step 703\b/ }).waitFor();
    await open(`/runs/${longRun}/trajectories?max_turns=3`);
    await journey.page.locator('.body .row a').first().waitFor();
    for (const link of await journey.page.locator('.body .row a').all()) expect(await link.getAttribute('href')).toMatch(/[?&]attempt=\d/);
  });
});

describe.skipIf(!hasChromium)('a dashboard with keys', () => {
  const key = 'reader-key-0123456789';
  const journey = startJourneys({ keys: [`${key}:read`], refusals: [401], short: true });

  it('has an accessible sign-in page', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await journey.page.emulateMedia({ colorScheme });
      await journey.page.goto(`${journey.world.url}/`);
      await journey.page.locator('input[type=password]').waitFor();
      expect(await journey.barriers()).toEqual([]);
    }
  });

  it('asks for a key on the live page, which has no data but a stream', async () => {
    await journey.page.goto(`${journey.world.url}/live`);
    await journey.page.locator('input[type=password]').fill(key);
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('.live', { hasText: '●' }).first().waitFor();
  });

  it('asks for a key once, then shows the runs, and rejects a wrong key', async () => {
    await journey.page.goto(`${journey.world.url}/`);
    await journey.page.locator('input[type=password]').fill('wrong-key-0123456789');
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('[role=alert]').first().waitFor();
    await journey.page.locator('input[type=password]').fill(key);
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('tbody tr').first().waitFor();
    expect(await journey.page.evaluate<string>('document.cookie')).toBe('');
    await journey.page.reload();
    await journey.page.locator('tbody tr').first().waitFor();
    expect(journey.page.url()).not.toContain(key);
  });

  it('says which part of a page needs another key, and signs out', async () => {
    journey.mayFail('status of 403', 'status of 404');
    await journey.page.goto(`${journey.world.url}/compare?runs=${storyRun},another`);
    expect(await journey.page.getByRole('button', { name: 'Sign out' }).count()).toBe(0);
    await journey.page.locator('input[type=password]').fill(key);
    await journey.page.keyboard.press('Enter');
    const note = journey.page.locator('.note', { hasText: 'Sign in with a key that has the scope sql' });
    await note.getByRole('button', { name: 'Sign out' }).waitFor();
    await journey.page.goto(`${journey.world.url}/sql?q=SELECT+1`);
    const refused = journey.page.locator('.failed', { hasText: 'FORBIDDEN' });
    await expect.poll(() => refused.count()).toBe(2);
    await refused.last().getByRole('button', { name: 'Sign out' }).click();
    await journey.page.locator('input[type=password]').waitFor();
    await journey.page.goto(`${journey.world.url}/`);
    await journey.page.locator('input[type=password]').waitFor();
  });
});

describe.skipIf(!hasChromium)('a dashboard with a token', () => {
  const token = 'token-of-the-dashboard-1';
  const journey = startJourneys({ dashboardToken: token, refusals: [401], short: true });

  it('signs in with a single-use link, and removes the ticket from the address', async () => {
    const link = linkWithTicket(`${journey.world.url}/runs/${storyRun}/steps`, token).replace('steps/?', 'steps?');
    await journey.page.goto(link);
    await journey.page.locator('tbody tr').first().waitFor();
    expect(journey.page.url()).toBe(`${journey.world.url}/runs/${storyRun}/steps`);
    expect(await journey.page.evaluate<string>('document.cookie')).toBe('');
    await journey.page.context().clearCookies();
    await journey.page.goto(link);
    await journey.page.locator('input[type=password]').fill(token);
    await journey.page.keyboard.press('Enter');
    await journey.page.locator('tbody tr').first().waitFor();
  });
});
