// Measures how fast the dashboard draws 50,000 trajectories over time, and new events in the live tail.
import type { Browser } from 'playwright-core';
import type { Store } from '../../../streams/core/ports.ts';
import { framesOf, type SpeedFigure } from '../../testing/dashboard-speed.ts';
import { outgoing } from '../../testing/events.ts';
import { turn } from '../../testing/rollout-events.ts';
import type { MeasuredWorld } from './measured-worlds.ts';

const BARS = 50_000;
const flowRun = 'flow-50000';
const tailRun = 'tail';
const TAILED = 50;
const viewport = { width: 1_280, height: 800 };

const start = "toDateTime64('2026-11-20 08:00:00', 6, 'UTC')";
const [names, place] = ['_topic, _partition, _offset, _timestamp', `'turnstream.training', 3, number, ${start}`];

/**
 * Writes as many trajectories as one response of the flow has at most, of which some are too old when they are trained on, and the run whose
 * events are followed: the API streams events only of runs that exist.
 */
export async function seedStreams(store: Store): Promise<void> {
  const sample = `concat('g', toString(intDiv(number, 4))), concat('${flowRun}-g', toString(intDiv(number, 4)), '.', toString(number % 4)), 0`;
  await store.command(
    `insert into run_events (run_id, event, max_staleness, at, ${names})
     select arrayJoin(['${flowRun}', '${tailRun}']), 'started', 1, ${start}, ${place} from numbers(1)`,
  );
  await store.command(
    `insert into policies (run_id, version, parent, occurred_at, ${names})
     select '${flowRun}', number + 1, number, ${start} + toIntervalSecond((number + 1) * 16), ${place} from numbers(${Math.ceil(BARS / 64)})`,
  );
  await store.command(
    `insert into step_trajectories (run_id, step, group_id, trajectory_id, attempt, at, ${names})
     select '${flowRun}', intDiv(number, 64) + 1, ${sample},
       ${start} + toIntervalMillisecond(number * 250 + 12000 + cityHash64(number) % 20000), ${place}
     from numbers(${BARS})`,
  );
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

export async function flowSpeed(browser: Browser, url: string): Promise<readonly SpeedFigure[]> {
  const page = await browser.newPage({ viewport });
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

export async function tailSpeed(browser: Browser, { url, writer }: MeasuredWorld): Promise<readonly SpeedFigure[]> {
  const page = await browser.newPage({ viewport });
  await page.goto(`${url}/live?run=${tailRun}`);
  await page.locator('.live', { hasText: '●' }).waitFor();
  const values: number[] = [];
  for (let sequence = 0; sequence < TAILED; sequence += 1) {
    const trajectory = `${tailRun}-${sequence}.0`;
    const started = performance.now();
    await writer.append([outgoing('TurnRecorded', turn({ run: tailRun, trajectory, sequence: 1 }, 1))]);
    await page.locator('.tail-row a', { hasText: trajectory }).waitFor();
    values.push(performance.now() - started);
  }
  await page.close();
  return [{ what: `turn written → on the live page, slowest of ${TAILED}`, unit: 'ms', most: 1_000, values: [Math.max(...values)] }];
}
