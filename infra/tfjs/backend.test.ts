import { createRequire } from 'node:module';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { createRecordingLogger } from '../testing/logger.ts';
import { backendNames, loadBackend } from './backend.ts';

describe('loadBackend', () => {
  it('takes the first that loads and logs why', async () => {
    const logger = createRecordingLogger();
    const backend = await loadBackend('auto', logger);
    const passed = backendNames.slice(0, backendNames.indexOf(backend.name));
    expect(logger.lines.filter(({ level }) => level === 'debug').map(({ fields }) => fields['backend'])).toEqual(passed);
    const chosen = logger.lines.filter(({ level }) => level === 'info');
    expect(chosen).toHaveLength(1);
    expect(chosen[0]?.fields).toMatchObject({ backend: backend.name, device: backend.device });
    expect(String(chosen[0]?.fields['reason'])).toContain(passed.length === 0 ? 'the best there is' : `${passed[0]}:`);
    expect(logger.lines.some(({ level }) => level === 'warn' || level === 'error')).toBe(false);
  });

  it('refuses a configured backend that is not installed, and says what to do', async () => {
    await expect(loadBackend('tfjs-node')).rejects.toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      message: expect.stringMatching(/^loading tensor backend tfjs-node: it is not installed; .*TURNSTREAM_BACKEND/) as string,
    });
  });

  it('computes on each of two loaded backends', async () => {
    const [wasm, cpu] = [await loadBackend('wasm'), await loadBackend('cpu')];
    expect(cpu.compute(() => tf.getBackend())).toBe('cpu');
    expect(wasm.compute(() => tf.getBackend())).toBe('wasm');
    expect(await loadBackend('wasm')).toBe(wasm);
  });

  it('frees tensors unless they are kept', async () => {
    const backend = await loadBackend('cpu');
    const before = tf.memory().numTensors;
    const kept = backend.compute(() => tf.keep(tf.square(tf.scalar(3))));
    expect(tf.memory().numTensors).toBe(before + 1);
    kept.dispose();
    expect(() => backend.compute(() => tf.matMul(tf.ones([1, 2]), tf.ones([3, 1])))).toThrow();
    expect(tf.memory().numTensors).toBe(before);
  });

  it('leaves the handlers of the process alone', async () => {
    const before = process.listenerCount('uncaughtException') + process.listenerCount('unhandledRejection');
    await loadBackend('wasm');
    expect(process.listenerCount('uncaughtException') + process.listenerCount('unhandledRejection')).toBe(before);
  });

  it('uses one instance of the core', () => {
    const core = createRequire(import.meta.url)('@tensorflow/tfjs-core') as typeof tf;
    expect(core.engine()).toBe(tf.engine());
  });
});
