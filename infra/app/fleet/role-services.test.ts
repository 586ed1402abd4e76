// Roles as child processes, with a tiny program in place of the real one.
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, closeSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlatformError } from '../../../streams/core/errors.ts';
import { freePort, pings } from '../open/local-ports.ts';
import { storeService } from './local-services.ts';
import { parseFromRole } from '../messages.ts';
import { roleService, type RoleServiceOptions } from './role-services.ts';
import type { Exit, RunningProcess } from './service.ts';

const PROGRAM = `
const [mode] = process.argv.slice(2);
process.send({ type: 'status', role: mode, status: { state: 'live', detail: process.env.GREETING, figures: {} } });
process.send({ type: 'metrics', role: mode, metrics: [] });
process.send('nonsense');
if (mode === 'fails') process.send({ type: 'failed', code: process.env.CODE, message: 'no good' }, () => process.exit(2));
else if (mode === 'ends') setTimeout(() => process.exit(0), 10);
else if (mode === 'hangs') for (;;);
else if (mode === 'talks') {
  let said = 0;
  setInterval(() => process.send({ type: 'metrics', role: mode, metrics: [] }, () => (said += 1) === 30 && process.exit(0)), 100);
}
else if (mode === 'echoes') process.on('message', (message) => { console.log(JSON.stringify(message)); process.exit(0); });
else { process.on('disconnect', () => process.exit(0)); process.on('SIGTERM', () => process.exit(143)); }
`;

describe('role services', () => {
  let dir = '';
  let log = 0;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'turnstream-roles-'));
    writeFileSync(join(dir, 'program.mjs'), PROGRAM);
    log = openSync(join(dir, 'log'), 'a');
  });
  afterAll(() => {
    closeSync(log);
    rmSync(dir, { recursive: true, force: true });
  });

  const service = (mode: string, extra: Partial<RoleServiceOptions> = {}) => {
    const heard: string[] = [];
    const made = roleService({
      ...{ name: mode, tier: 1, program: join(dir, 'program.mjs'), args: [mode], log, onSuccess: 'restart' },
      env: () => ({ ...process.env, GREETING: 'hello', CODE: 'RUN_FINISHED' }),
      onStatus: ({ detail }) => heard.push(detail),
      onMetrics: ({ role }) => heard.push(role),
      ...extra,
    });
    return { heard, made };
  };
  const signal = new AbortController().signal;
  const exit = (code: number | null): Exit => ({ code, signal: code === null ? 'SIGKILL' : null });

  it('receive the messages of a role, and stop it', async () => {
    const { heard, made } = service('waits');
    const running = await made.launch(signal);
    await expect.poll(() => heard).toEqual(['hello', 'waits']);
    await running.stop();
    expect(await running.exited).toEqual({ code: 143, signal: null });
    const killed = await made.launch(signal);
    killed.kill();
    expect(await killed.exited).toEqual({ code: null, signal: 'SIGKILL' });
    made.pass({ type: 'metrics', role: 'trainer', metrics: [] });
  });

  it('kill a process that hangs, and no other', async () => {
    const hanging = await service('hangs', { silence: { tickMs: 20, ticks: 5 } }).made.launch(signal);
    expect(await hanging.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(readFileSync(join(dir, 'log'), 'utf8')).toContain('"role":"hangs"');
    const talking = await service('talks', { silence: { tickMs: 500, ticks: 5 } }).made.launch(signal);
    expect(await talking.exited, 'a role that reports may run longer than the silence limit').toEqual({ code: 0, signal: null });
  });

  it('forward metrics to a role, and write its output to the log', async () => {
    const { made } = service('echoes');
    made.pass({ type: 'metrics', role: 'nobody', metrics: [] });
    const running = await made.launch(signal);
    made.pass({ type: 'metrics', role: 'trainer', metrics: [{ name: 'x' }] });
    await running.exited;
    expect(readFileSync(join(dir, 'log'), 'utf8')).toContain('{"type":"metrics","role":"trainer","metrics":[{"name":"x"}]}');
  });

  it('classify an exit by its code and by the reported error', async () => {
    const { made } = service('fails');
    expect(made.judge(exit(0))).toBe('restart');
    expect(service('x', { onSuccess: 'done' }).made.judge(exit(0))).toBe('done');
    expect(made.judge(exit(null))).toBe('restart');
    expect(made.judge(exit(1))).toBe('restart');
    const running = await made.launch(signal);
    const ended = await running.exited;
    await expect.poll(() => made.failure()?.code).toBe('RUN_FINISHED');
    expect(made.judge(ended)).toEqual({
      fatal: expect.objectContaining({ code: 'RUN_FINISHED', message: 'running role fails: no good' }) as Error,
    });
  });

  it('count a run as finished if the previous process finished it and was killed before it could report that', async () => {
    const { made } = service('fails', { onSuccess: 'done' });
    const first = await made.launch(signal);
    const refused = await first.exited;
    await expect.poll(() => made.failure()?.code).toBe('RUN_FINISHED');
    expect(made.judge(refused)).toHaveProperty('fatal');
    const second = await made.launch(signal);
    const ended = await second.exited;
    await expect.poll(() => made.failure()?.code).toBe('RUN_FINISHED');
    expect(made.judge(ended)).toBe('done');
  });

  it('restart a role that failed because a dependency was unavailable', async () => {
    const { made } = service('fails', { env: () => ({ ...process.env, CODE: 'KAFKA_UNAVAILABLE' }) });
    const running = await made.launch(signal);
    expect(made.judge(await running.exited)).toBe('restart');
  });

  it('exit with an error if the program does not exist', async () => {
    const { made } = service('waits', { program: join(dir, 'missing.mjs') });
    const running = await made.launch(signal);
    expect((await running.exited).code).not.toBe(0);
  });

  it('ignore messages that they do not know', () => {
    expect(parseFromRole(undefined)).toBeUndefined();
    expect(parseFromRole({ type: 'failed' })).toBeUndefined();
    expect(parseFromRole({ type: 'metrics', role: 1 })).toBeUndefined();
    expect(parseFromRole({ type: 'failed', code: 'INTERNAL', message: 'x' })).toMatchObject({ message: 'x' });
  });

  describe('of the store', () => {
    const running = (exited: Promise<Exit> = new Promise(() => undefined)): RunningProcess => ({
      pid: 1,
      exited,
      stop: async () => undefined,
      kill: () => undefined,
    });

    it('is ready when it answers', async () => {
      const { createServer: http } = await import('node:http');
      const server = http((_request, response) => response.end('Ok.\n'));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      expect(await pings(url)).toBe(true);
      const store = storeService({ url, start: async () => running(), failure: () => undefined });
      expect((await store.launch(signal)).pid).toBe(1);
      expect(store.judge(exit(null))).toBe('restart');
      await new Promise((resolve) => server.close(resolve));
      expect(await pings(url)).toBe(false);
    });

    it('fails with the error that its process reported, or with its exit', async () => {
      const url = `http://127.0.0.1:${await freePort()}`;
      const said = new PlatformError('PORT_IN_USE', 'listening: taken');
      const failing = storeService({ url, start: async () => running(Promise.resolve(exit(2))), failure: () => said });
      await expect(failing.launch(signal)).rejects.toBe(said);
      expect(failing.judge(exit(2))).toEqual({ fatal: said });
      const silent = storeService({ url, start: async () => running(Promise.resolve(exit(null))), failure: () => undefined });
      await expect(silent.launch(signal)).rejects.toThrow('it ended with SIGKILL');
      const stopped = storeService({ url, start: async () => running(), failure: () => undefined });
      expect((await stopped.launch(AbortSignal.abort())).pid).toBe(1);
    });
  });
});
