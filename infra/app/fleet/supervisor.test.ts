import { describe, expect, it } from 'vitest';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Exit, RunningProcess, Service, SupervisorEvent } from './service.ts';
import { createSupervisor } from './supervisor.ts';

interface FakeProcess {
  end(exit: Exit): void;
  readonly running: RunningProcess;
  readonly calls: string[];
}

function fakeProcess(pid: number, stubborn = false): FakeProcess {
  let end: (exit: Exit) => void = () => undefined;
  const exited = new Promise<Exit>((resolve) => (end = resolve));
  const calls: string[] = [];
  return {
    end,
    calls,
    running: {
      pid,
      exited,
      async stop() {
        calls.push('stop');
        if (!stubborn) end({ code: 0, signal: null });
        await exited;
      },
      kill() {
        calls.push('kill');
        end({ code: null, signal: 'SIGKILL' });
      },
    },
  };
}

/** A service whose launches the test controls. */
function fakeService(name: string, options: Partial<Service> & { stubborn?: boolean; failures?: Error[] } = {}) {
  const launched: FakeProcess[] = [];
  const waiting: (() => void)[] = [];
  const service: Service = {
    name,
    tier: options.tier ?? 1,
    async launch() {
      const failure = options.failures?.shift();
      if (failure !== undefined) throw failure;
      const next = fakeProcess(100 + launched.length, options.stubborn);
      launched.push(next);
      for (const wake of waiting.splice(0)) wake();
      return next.running;
    },
    judge: options.judge ?? (() => 'restart'),
  };
  async function nth(count: number): Promise<FakeProcess> {
    while (launched.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
    return launched[count - 1]!;
  }
  return { service, launched, nth };
}

function supervisor(stopMs = 1_000) {
  const events: SupervisorEvent[] = [];
  const made = createSupervisor({ onEvent: (event) => events.push(event), stopMs, backoff: { firstMs: 1, maxMs: 4 } });
  return { events, made, waits: () => events.filter(({ kind }) => kind === 'restarting').map(({ detail }) => detail) };
}

describe('supervisor', () => {
  it('restarts a service after each unexpected exit, with a longer wait each time until it is healthy', async () => {
    const { made, waits } = supervisor();
    const { service, nth } = fakeService('worker');
    const worker = made.add(service);
    for (let life = 1; life <= 4; life += 1) (await nth(life)).end({ code: null, signal: 'SIGKILL' });
    await nth(5);
    expect(waits()).toEqual(['in 1 ms', 'in 2 ms', 'in 4 ms', 'in 4 ms']);
    expect(worker.restarts()).toBe(4);
    worker.healthy();
    (await nth(5)).end({ code: 1, signal: null });
    await nth(6);
    expect(waits().at(-1)).toBe('in 1 ms');
    expect(worker.pid()).toBe(105);
    await made.stopAll();
    expect(worker.pid()).toBeUndefined();
  });

  it('gives up when the first launch fails, or a later one with an error that a retry cannot fix', async () => {
    const { made } = supervisor();
    const away = new PlatformError('KAFKA_UNAVAILABLE', 'starting the local Kafka: it exited with code 1');
    const never = fakeService('kafka', { failures: [away] });
    const kafka = made.add(never.service);
    await expect(made.failed).rejects.toBe(away);
    await expect(kafka.started).rejects.toBe(away);
    expect(never.launched).toHaveLength(0);
    await made.stopAll();

    const second = supervisor();
    const broken = new PlatformError('TOOLCHAIN_MISSING', 'starting the local Kafka: no Java');
    const failures: Error[] = [];
    const later = fakeService('kafka', { failures });
    const again = second.made.add(later.service);
    await later.nth(1);
    failures.push(away, away, broken);
    again.bounce();
    await expect(second.made.failed).rejects.toBe(broken);
    expect(second.waits()).toHaveLength(3);
    await second.made.stopAll();
  });

  it('does not restart a service that is done, and fails at a fatal exit', async () => {
    const { made } = supervisor();
    const once = fakeService('trainer', { judge: ({ code }) => (code === 0 ? 'done' : { fatal: new Error('fenced') }) });
    const trainer = made.add(once.service);
    (await once.nth(1)).end({ code: 0, signal: null });
    await trainer.done;
    expect(once.launched).toHaveLength(1);
    const fenced = fakeService('other', { judge: () => ({ fatal: new Error('fenced') }) });
    made.add(fenced.service);
    (await fenced.nth(1)).end({ code: 3, signal: null });
    await expect(made.failed).rejects.toThrow('fenced');
  });

  it('lists no process that has ended, at any event', async () => {
    const listed: [string, number | undefined, number[]][] = [];
    const made = createSupervisor({
      onEvent: ({ kind, pid }) => listed.push([kind, pid, made.all().flatMap((one) => one.pid() ?? [])]),
      stopMs: 20,
      backoff: { firstMs: 1, maxMs: 1 },
    });
    const once = fakeService('once', { judge: ({ code }) => (code === 0 ? 'done' : 'restart') });
    const { done } = made.add(once.service);
    (await once.nth(1)).end({ code: null, signal: 'SIGKILL' });
    (await once.nth(2)).end({ code: 0, signal: null });
    await done;
    const stubborn = fakeService('stubborn', { stubborn: true });
    made.add(stubborn.service);
    await stubborn.nth(1);
    await made.stopAll();
    expect(listed).toEqual([
      ['started', 100, [100]],
      ['exited', 100, []],
      ['restarting', undefined, []],
      ['started', 101, [101]],
      ['exited', 101, []],
      ['started', 100, [100]],
      ['killed', 100, [100]],
      ['stopped', 100, []],
    ]);
  });

  it('stops the highest tier first and kills what does not stop in time', async () => {
    const { made, events } = supervisor(20);
    const kafka = fakeService('kafka', { tier: 0 });
    const worker = fakeService('worker', { tier: 3, stubborn: true });
    const api = fakeService('api', { tier: 2 });
    for (const { service } of [kafka, api, worker]) made.add(service);
    const processes = await Promise.all([kafka.nth(1), api.nth(1), worker.nth(1)]);
    await made.stopAll();
    await made.stopAll();
    expect(events.filter(({ kind }) => kind === 'stopped').map(({ service }) => service)).toEqual(['worker', 'api', 'kafka']);
    expect(processes.map(({ calls }) => calls)).toEqual([['stop'], ['stop'], ['stop', 'kill']]);
    expect([kafka, api, worker].map(({ launched }) => launched.length)).toEqual([1, 1, 1]);
  });

  it('stops a process whose start completes during the stop', async () => {
    const { made } = supervisor();
    const late = fakeProcess(7);
    let arrive: (running: RunningProcess) => void = () => undefined;
    const asked = new Promise<void>((told) => {
      made.add({
        name: 'late',
        tier: 1,
        launch() {
          told();
          return new Promise<RunningProcess>((resolve) => (arrive = resolve));
        },
        judge: () => 'restart',
      });
    });
    await asked;
    const stopped = made.stopAll();
    arrive(late.running);
    await stopped;
    expect(late.calls).toEqual(['stop']);
  });

  it('kills everything at once and starts nothing again', async () => {
    const { made } = supervisor();
    const services = [fakeService('a'), fakeService('b', { stubborn: true })];
    const supervised = services.map(({ service }) => made.add(service));
    const processes = await Promise.all(services.map(({ nth }) => nth(1)));
    made.killAll();
    await Promise.all(supervised.map(({ done }) => done));
    expect(processes.map(({ calls }) => calls)).toEqual([['kill'], ['kill']]);
    expect(services.map(({ launched }) => launched.length)).toEqual([1, 1]);
    expect(made.all().map(({ name }) => name)).toEqual(['a', 'b']);
    const late = fakeService('late');
    await made.add(late.service).done;
    expect(late.launched).toHaveLength(0);
  });
});
