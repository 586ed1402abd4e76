import { beforeEach, describe, expect, it } from 'vitest';
import { linesReporter, terminalReporter } from '../../cli/up/reporter.ts';
import { progressFields, renderProgress } from '../../cli/up/progress-view.ts';
import { withoutSecrets } from '../../cli/views/addresses.ts';
import { createProgress, type FleetProgress } from './progress.ts';
import type { SupervisorEvent } from './service.ts';

function trained() {
  const progress = createProgress({ run: 'run-1', steps: 150, nowMs: () => 0, dateMs: () => 0 });
  progress.event({ kind: 'started', service: 'kafka', pid: 10, detail: '' });
  progress.event({ kind: 'started', service: 'trainer', pid: 11, detail: '' });
  progress.status('trainer', {
    state: 'live',
    detail: '',
    figures: { step: 12, reward_mean: 0.4321, staleness_mean: 1.5, staleness_max: 3 },
  });
  progress.status('worker-1', { state: 'live', detail: '', figures: { turns_per_s: 100, policy_version: 11 } });
  progress.status('worker-2', { state: 'waiting', detail: 'no broker\nanswers', figures: { turns_per_s: 50.4, policy_version: 12 } });
  progress.status('warehouse', { state: 'live', detail: '', figures: { lag: 42 } });
  progress.addresses({
    kafkaBrokers: ['127.0.0.1:9092'],
    clickhouseUrl: 'http://me:secret@127.0.0.1:8123',
    apiUrl: 'http://127.0.0.1:8787',
    registryUrl: '',
  });
  progress.phase('');
  return progress;
}

describe('progress', () => {
  it('gathers the figures of all services', () => {
    const snapshot = trained().snapshot();
    expect(snapshot).toMatchObject({
      step: 12,
      steps: 150,
      rewardMean: 0.4321,
      stalenessMax: 3,
      turnsPerSecond: 150.4,
      lag: 42,
      versions: [11, 12],
    });
    expect(progressFields(snapshot)).toMatchObject({ run: 'run-1', step: 12, reward_mean: 0.4321, lag: 42, restarts: 0 });
  });

  it('shows unknown figures as unknown at the start', () => {
    const snapshot = createProgress({ run: 'r', steps: 0, nowMs: () => 0, dateMs: () => 0 }).snapshot();
    expect(snapshot).toMatchObject({ phase: 'starting', step: 0, versions: undefined, remainingMs: undefined });
    expect(progressFields(snapshot)).toMatchObject({ reward_mean: null, staleness_mean: null, versions: null, remaining_s: null });
    const text = renderProgress(snapshot, 80).join('\n');
    expect(text).toContain('reward –');
    expect(text).toMatch(/policy –$/m);
  });

  it('shows the elapsed time and an estimate of the remaining time', () => {
    let nowMs = 1_000;
    const progress = createProgress({ run: 'r', steps: 150, nowMs: () => nowMs, dateMs: () => 0 });
    const at = (seconds: number, step: number): void => {
      nowMs = 1_000 + seconds * 1_000;
      progress.status('trainer', { state: 'live', detail: '', figures: { step } });
    };
    const title = (): string => renderProgress(progress.snapshot(), 120)[0] ?? '';
    progress.phase('');
    expect(title()).toBe('run r   0:00');
    // resumed at step 100: earlier steps do not count for the pace
    at(20, 100);
    expect(title()).toBe('run r   0:20');
    at(40, 110);
    expect(title()).toBe('run r   0:40, about 1:20 left');
    at(50, 110);
    expect(title(), 'time goes by within a step').toBe('run r   0:50, about 1:10 left');
    expect(progressFields(progress.snapshot())).toMatchObject({ elapsed_s: 50, remaining_s: 70 });
    at(3_700, 150);
    expect(title(), 'nothing is left').toBe('run r   1:01:40');
  });

  it('takes the number of steps of a resumed run from its trainer', () => {
    const progress = createProgress({ run: 'r', steps: 0, nowMs: () => 0, dateMs: () => 0 });
    progress.status('trainer', { state: 'live', detail: '', figures: { step: 7, steps: 20 } });
    expect(progress.snapshot()).toMatchObject({ step: 7, steps: 20 });
  });

  it('says that nothing is trained when there is no run', () => {
    const progress = createProgress({ run: '', steps: 0, nowMs: () => 0, dateMs: () => 0 });
    progress.phase('');
    progress.status('warehouse', { state: 'live', detail: '', figures: { lag: 7 } });
    expect(renderProgress(progress.snapshot(), 120)).toEqual(['serving existing runs, without training', '  lag 7', '  warehouse live']);
  });

  it('counts restarts and shows what a service waits for', () => {
    const progress = trained();
    progress.event({ kind: 'exited', service: 'trainer', pid: 11, detail: 'SIGKILL' });
    progress.event({ kind: 'restarting', service: 'trainer', pid: undefined, detail: 'in 200 ms' });
    const text = renderProgress(progress.snapshot(), 200).join('\n');
    expect(text).toContain('trainer restarting (restarted 1×)');
    expect(text).toContain('worker-2: no broker answers');
    expect(text).toContain('step 12/150   reward 0.432   staleness mean 1.50 max 3');
    expect(text).toContain('policy 11..12');
    progress.event({ kind: 'started', service: 'trainer', pid: 12, detail: '' });
    progress.finished('trainer');
    expect(progress.snapshot().services.find(({ name }) => name === 'trainer')).toMatchObject({ state: 'finished', restarts: 1 });
  });

  it('cuts lines to the width of the terminal and shows no password', () => {
    const lines = renderProgress(trained().snapshot(), 40);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
    expect(renderProgress(trained().snapshot(), 400).join()).not.toContain('secret');
    expect(withoutSecrets('127.0.0.1:9092')).toBe('127.0.0.1:9092');
  });
});

describe('the health of the services', () => {
  let now = 0;
  let progress: FleetProgress;
  beforeEach(() => {
    now = 0;
    progress = createProgress({ run: 'r', steps: 0, nowMs: () => 0, dateMs: () => now });
  });
  const event = (kind: SupervisorEvent['kind'], service: string, detail = ''): void => {
    progress.event({ kind, service, pid: 1, detail });
  };

  it('has the current state of each service and the time at which it entered it', () => {
    event('started', 'worker-1');
    now = 5;
    expect(progress.status('worker-1', { state: 'live', detail: '', figures: {} })).toBe(true);
    now = 9;
    expect(progress.status('worker-1', { state: 'live', detail: '', figures: { running: 1 } })).toBe(false);
    expect(progress.health()).toEqual([{ name: 'worker-1', state: 'live', detail: '', restarts: 0, sinceMs: 5 }]);
  });

  it('says why a process ended until it is back', () => {
    event('started', 'trainer');
    event('exited', 'trainer', 'SIGKILL');
    event('restarting', 'trainer', 'in 200 ms');
    expect(progress.health()).toMatchObject([{ state: 'restarting', detail: 'SIGKILL', restarts: 1 }]);
    event('started', 'trainer');
    expect(progress.health()).toMatchObject([{ state: 'starting', detail: '', restarts: 1 }]);
    progress.finished('trainer');
    expect(progress.health()).toMatchObject([{ state: 'finished' }]);
  });

  it('counts Kafka and the store as live once they have started', () => {
    event('started', 'kafka');
    event('started', 'store');
    event('stopped', 'store');
    expect(progress.health().map(({ state }) => state)).toEqual(['live', 'stopped']);
  });

  it('changes with the first report of a service, even if that is `starting`', () => {
    expect(progress.status('up', { state: 'starting', detail: '', figures: {} })).toBe(true);
    expect(progress.status('up', { state: 'starting', detail: '', figures: {} })).toBe(false);
  });
});

describe('reporters', () => {
  it('writes one JSON object for each event and one for each completed step', () => {
    const progress = trained();
    const lines: string[] = [];
    const reporter = linesReporter({ progress, out: (text) => lines.push(text), now: () => new Date(0) });
    reporter.changed('status', { service: 'trainer' });
    reporter.changed('status', { service: 'trainer' });
    reporter.changed('restarting', { service: 'api' });
    progress.status('trainer', { state: 'live', detail: '', figures: { step: 13, reward_mean: 0.5 } });
    reporter.changed('status', { service: 'trainer' });
    reporter.close();
    const events = lines.map((line) => JSON.parse(line) as { event: string; step?: number; time: string });
    expect(events.map(({ event, step }) => [event, step])).toEqual([
      ['progress', 12],
      ['restarting', undefined],
      ['progress', 13],
    ]);
    expect(events[0]?.time).toBe('1970-01-01T00:00:00.000Z');
  });

  it('repaints one block in place', () => {
    const written: string[] = [];
    const reporter = terminalReporter({
      progress: trained(),
      out: (text) => written.push(text),
      now: () => new Date(0),
      columns: () => 80,
    });
    reporter.changed('status', {});
    reporter.close();
    reporter.close();
    expect(written[0]?.startsWith('\u001b[0J')).toBe(true);
    const height = written[0]!.split('\n').length - 1;
    expect(written[1]?.startsWith(`\u001b[${height}A`)).toBe(true);
  });
});
