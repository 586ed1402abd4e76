import { beforeEach, describe, expect, it } from 'vitest';
import { createServiceBoard, type ServiceBoard } from './service-board.ts';
import type { SupervisorEvent } from './service.ts';

let now = 0;
let board: ServiceBoard;
beforeEach(() => {
  now = 0;
  board = createServiceBoard(() => now);
});

const event = (kind: SupervisorEvent['kind'], service: string, detail = ''): void => {
  board.event({ kind, service, pid: 1, detail });
};

describe('the board of services', () => {
  it('shows the newest state of each and when it came into it', () => {
    event('started', 'worker-1');
    now = 5;
    expect(board.status('worker-1', { state: 'live', detail: '', figures: {} })).toBe(true);
    now = 9;
    expect(board.status('worker-1', { state: 'live', detail: '', figures: { running: 1 } })).toBe(false);
    expect(board.services()).toEqual([{ name: 'worker-1', state: 'live', detail: '', restarts: 0, sinceMs: 5 }]);
  });

  it('says why a process ended until it is back', () => {
    event('started', 'trainer');
    event('exited', 'trainer', 'SIGKILL');
    event('restarting', 'trainer', 'in 200 ms');
    expect(board.services()).toMatchObject([{ state: 'restarting', detail: 'SIGKILL', restarts: 1 }]);
    event('started', 'trainer');
    expect(board.services()).toMatchObject([{ state: 'starting', detail: '', restarts: 1 }]);
    board.finished('trainer');
    expect(board.services()).toMatchObject([{ state: 'finished' }]);
  });

  it('takes the log and the store for live once they run', () => {
    event('started', 'kafka');
    event('started', 'store');
    event('stopped', 'store');
    expect(board.services().map(({ state }) => state)).toEqual(['live', 'stopped']);
  });
});
