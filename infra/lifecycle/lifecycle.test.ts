import { EventEmitter } from 'node:events';
import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listenForInterrupts } from './interrupts.ts';
import { takeLock } from './lock-file.ts';
import { endpointOf, portAnswers, portIsFree } from './net.ts';
import { processAlive, sameProcessAlive, startMarkOf } from './process-alive.ts';
import { aborted, inTime, pause, settledWithin } from './waiting.ts';

describe('a wait', () => {
  const never = new Promise<string>(() => undefined);
  const late = (): Error => new Error('late');

  it('ends at an abort', async () => {
    const controller = new AbortController();
    const waiting = Promise.all([pause(60_000, controller.signal), aborted(controller.signal)]);
    controller.abort();
    await waiting;
    await pause(60_000, controller.signal);
    await aborted(controller.signal);
    await pause(1, new AbortController().signal);
  });

  it('ends when the work has settled, however it did', async () => {
    expect(await settledWithin(60_000, Promise.resolve())).toBe(true);
    expect(await settledWithin(60_000, Promise.reject(new Error('broken')))).toBe(true);
    expect(await settledWithin(1, never)).toBe(false);
  });

  it('returns the result or the failure of work that is in time, and rejects when it is late', async () => {
    expect(await inTime(Promise.resolve('done'), 60_000, late)).toBe('done');
    await expect(inTime(Promise.reject(new Error('broken')), 60_000, late)).rejects.toThrow('broken');
    await expect(inTime(never, 1, late)).rejects.toThrow('late');
  });
});

describe('ports', () => {
  it('distinguishes free ports from ports in use', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await portIsFree('127.0.0.1', port)).toBe(false);
    expect(await portAnswers('127.0.0.1', port)).toBe(true);
    await new Promise((resolve) => server.close(resolve));
    expect(await portIsFree('127.0.0.1', port)).toBe(true);
    expect(await portAnswers('127.0.0.1', port)).toBe(false);
  });

  it('reads host and port of brokers and URLs', () => {
    expect(endpointOf('127.0.0.1:9092')).toEqual({ host: '127.0.0.1', port: 9092 });
    expect(endpointOf('http://localhost:8123/')).toEqual({ host: 'localhost', port: 8123 });
    expect(endpointOf('https://ch.example')).toEqual({ host: 'ch.example', port: 443 });
    expect(endpointOf('http://[::1]')).toEqual({ host: '::1', port: 80 });
  });
});

describe('lock file', () => {
  let dir = '';
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'turnstream-lock-'))));
  afterEach(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  it('has one owner until it is released, and names the owner to others', () => {
    const path = join(dir, 'deep', 'up.lock');
    const first = takeLock(path, 'up of run-1');
    expect(takeLock(path, 'audit')).toMatchObject({ taken: false, owner: { pid: process.pid, purpose: 'up of run-1' } });
    if (first.taken) first.release();
    expect(existsSync(path)).toBe(false);
    expect(takeLock(path, 'audit').taken).toBe(true);
  });

  it('is taken over from an ended process, from a reused pid, and from an incomplete file', async () => {
    const path = join(dir, 'up.lock');
    const child = spawn(process.execPath, ['-e', '']);
    const pid = child.pid ?? 0;
    await new Promise((resolve) => child.once('exit', resolve));
    for (const text of [
      JSON.stringify({ pid, mark: '', purpose: 'x' }),
      JSON.stringify({ pid: process.pid, mark: 'other', purpose: 'x' }),
      '{"pid":',
      'null',
    ]) {
      writeFileSync(path, text);
      const lock = takeLock(path, 'up');
      expect(lock.taken).toBe(true);
      if (lock.taken) lock.release();
    }
  });

  it('does not remove the lock of another', () => {
    const path = join(dir, 'up.lock');
    const lock = takeLock(path, 'up');
    writeFileSync(path, JSON.stringify({ pid: 1, mark: '', purpose: 'other' }));
    if (lock.taken) lock.release();
    expect(readFileSync(path, 'utf8')).toContain('other');
    expect(() => takeLock(join(path, 'below-a-file'), 'up')).toThrow();
  });

  it('identifies a process by its pid and start time', () => {
    expect(processAlive(process.pid)).toBe(true);
    expect(processAlive(2 ** 22 + 1)).toBe(false);
    expect(startMarkOf(2 ** 22 + 1)).toBe('');
    expect(sameProcessAlive(process.pid, startMarkOf(process.pid))).toBe(true);
  });
});

describe('interrupts', () => {
  it('requests a stop at the first signal and forces it at a later one, but not at a repetition of the first', () => {
    const source = new EventEmitter();
    const insisted: string[] = [];
    let now = 1_000;
    const interrupts = listenForInterrupts({ source, now: () => now, onSecond: (signal) => insisted.push(signal) });
    expect(interrupts.received()).toBeUndefined();
    source.emit('SIGINT', 'SIGINT');
    now += 50;
    source.emit('SIGINT', 'SIGINT');
    expect(interrupts.signal.aborted).toBe(true);
    expect(insisted).toEqual([]);
    now += 1_000;
    source.emit('SIGTERM', 'SIGTERM');
    expect(insisted).toEqual(['SIGTERM']);
    expect(interrupts.received()).toBe('SIGINT');
    interrupts.close();
    expect(source.listenerCount('SIGINT')).toBe(0);
  });
});
