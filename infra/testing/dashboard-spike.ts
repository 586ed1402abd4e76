// A run of 50,000 steps whose reward has one spike.
import type { Store } from '../../streams/core/ports.ts';

export const spikyRun = 'spiky';
export const SPIKY_STEPS = 50_000;
export const SPIKE_STEP = 7_777;

export async function seedSpikyRun(store: Store): Promise<void> {
  const at = "toDateTime64('2026-11-20 08:00:00', 6, 'UTC')";
  const reward = `if(number + 1 = ${SPIKE_STEP}, 2.5, 0.4 + 0.1 * ((cityHash64(number) % 1000) / 1000))`;
  const place = `'turnstream.training', 70, number, ${at}`;
  const names = '_topic, _partition, _offset, _timestamp';
  await store.command(`insert into run_events (run_id, event, sequence, steps, max_staleness, at, ${names})
    select '${spikyRun}', 'started', 0, ${SPIKY_STEPS}, 4, ${at}, ${place} from numbers(1)`);
  await store.command(`insert into steps (run_id, step, sequence, version_before, version_after, trajectories, reward_mean, at, ${names})
    select '${spikyRun}', toInt32(number + 1), number + 1, toInt32(number), toInt32(number + 1), 8, ${reward}, ${at} + toIntervalSecond(number),
      ${place} from numbers(${SPIKY_STEPS})`);
  await store.command(`insert into step_figures (run_id, step, trajectories, reward_mean)
    select '${spikyRun}', toInt32(number + 1), 8, ${reward} from numbers(${SPIKY_STEPS})`);
}
