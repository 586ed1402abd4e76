import { describe, expect, it } from 'vitest';
import { CATCHING_UP_MS, unready, unreadyAmong, withDependencies, type ServiceHealth, type ServiceState } from './health.ts';

const service = (state: ServiceState, detail = ''): ServiceHealth => ({ name: 'trainer', state, detail, restarts: 0, sinceMs: 1_000 });

describe('readiness', () => {
  it.each(['live', 'finished'] as const)('%s is ready', (state) => {
    expect(unready(service(state), 0)).toBeUndefined();
  });

  it.each([
    ['starting', 'trainer is starting: why'],
    ['waiting', 'trainer waits: why'],
    ['failed', 'trainer has failed: why'],
    ['stopping', 'trainer is stopping: why'],
    ['stopped', 'trainer has stopped: why'],
    ['restarting', 'trainer is being started again: why'],
  ] as const)('%s is not', (state, text) => {
    expect(unready(service(state, 'why'), 0)).toBe(text);
  });

  it('allows catching up for a limited time', () => {
    expect(unready(service('catching_up'), 1_000 + CATCHING_UP_MS)).toBeUndefined();
    expect(unready(service('catching_up', 'refolding'), 61_001 + 1_000)).toBe('trainer is catching up: refolding, for 61 s');
  });

  it('lists every service that is not ready', () => {
    expect(unreadyAmong([service('live'), service('waiting', 'for the store')], 0)).toEqual(['trainer waits: for the store']);
  });

  it('waits for a dependency that is down', () => {
    const live = { state: 'live', detail: '', figures: {} } as const;
    expect(withDependencies(live, ['kafka', 'clickhouse'])).toMatchObject({ state: 'waiting', detail: 'for kafka and clickhouse' });
    expect(withDependencies(live, [])).toBe(live);
    expect(withDependencies({ ...live, state: 'stopping' }, ['kafka']).state).toBe('stopping');
  });
});
