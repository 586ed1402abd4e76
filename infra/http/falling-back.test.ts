import { describe, expect, it } from 'vitest';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Coordinator } from '../../streams/leases/coordinator.ts';
import { fallingBack } from './falling-back.ts';
import { remoteCoordinator } from './remote-coordinator.ts';

/** Every call returns the name of the coordinator, or throws. */
function named(name: string, error?: PlatformError): Coordinator {
  const answer = async () => {
    if (error !== undefined) throw error;
    return name;
  };
  const made = { claim: answer, lease: answer, publish: answer, rows: answer, extend: answer, commit: answer, release: answer };
  return made as unknown as Coordinator;
}

const calls: readonly ((coordinator: Coordinator) => Promise<unknown>)[] = [
  (it) => it.claim('run-a', { trainer_id: 't' }),
  (it) => it.lease('run-a', { epoch: 1, lineage: '' }, new AbortController().signal),
  (it) => it.publish('run-a', { version: 0, uri: '', sha256: '', format: '' }),
  (it) => it.rows('run-a/step/1.0', {}),
  (it) => it.extend('run-a/step/1.0', { epoch: 1 }),
  (it) => it.commit('run-a/step/1.0', { epoch: 1, batch_sha256: '', policy: null, metrics: {} }),
  (it) => it.release('run-a/step/1.0', { epoch: 1 }),
];

describe('a coordinator with a fallback', () => {
  it.each(calls)('is called first, and the fallback only if the first cannot be reached', async (call) => {
    const second = async () => named('second');
    expect(await call(fallingBack(named('first'), second))).toBe('first');
    const away = new PlatformError('COORDINATOR_UNAVAILABLE', 'nobody listens', { cause: new Error('refused') });
    expect(await call(fallingBack(named('first', away), second))).toBe('second');
    const starting = new PlatformError('COORDINATOR_UNAVAILABLE', 'it is starting');
    await expect(call(fallingBack(named('first', starting), second))).rejects.toBe(starting);
    const fenced = new PlatformError('FENCED', 'another one');
    await expect(call(fallingBack(named('first', fenced), second))).rejects.toBe(fenced);
  });

  it('gives the fallback the error with which it could not be reached', async () => {
    const nobody = remoteCoordinator({ url: 'http://127.0.0.1:1', headers: {} });
    const reasons: unknown[] = [];
    const second = async (reason: unknown) => {
      reasons.push(reason);
      return named('second');
    };
    expect(await fallingBack(nobody, second).claim('run-a', { trainer_id: 't' })).toBe('second');
    expect(reasons).toMatchObject([{ code: 'COORDINATOR_UNAVAILABLE' }]);
  });
});
