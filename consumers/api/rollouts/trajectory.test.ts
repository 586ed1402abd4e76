import { describe, expect, it } from 'vitest';
import { createFakeStore } from '../../../infra/testing/fake-store.ts';
import { attemptsOf, readGroup, readTrajectory } from './trajectory.reader.ts';

const none = { tasks: [], started: [], finished: [], expired: [] };
const task = (attempt: number) => ({ attempt, occurred_at: `asked ${attempt}` });
const start = (attempt: number) => ({ attempt, worker_id: `w-${attempt}`, occurred_at: `started ${attempt}` });

describe('attempts', () => {
  it('have the status that follows from their events', () => {
    expect(attemptsOf(none)).toEqual([]);
    const found = attemptsOf({
      ...none,
      tasks: [task(0), task(2), task(1)],
      started: [start(1), start(0)],
      expired: [{ attempt: 0, reason: 'silent', at: 'given up' }],
    });
    expect(found).toMatchObject([
      { attempt: 0, status: 'expired', requested_at: 'asked 0', started_at: 'started 0', worker_id: 'w-0', expired_reason: 'silent' },
      { attempt: 1, status: 'running', started_at: 'started 1', worker_id: 'w-1', expired_reason: '', expired_at: null },
      { attempt: 2, status: 'requested', started_at: null, worker_id: '', result: null },
    ]);
    expect(found[0]?.expired_at).toBe('given up');
  });

  it('are known from a start alone', () => {
    expect(attemptsOf({ ...none, started: [start(3)] })).toMatchObject([{ attempt: 3, status: 'running', requested_at: null }]);
  });
});

const placed = (_offset: number) => ({ _offset, _timestamp: '2026-01-01T00:00:00.000Z' });
const finished = {
  run_id: 'run-a',
  group_id: 'g',
  trajectory_id: 'g.0',
  attempt: 0,
  purpose: 'external',
  question_id: 'q',
  question: 'Q?',
  status: 'answered',
  reward: null,
  ...placed(0),
};

describe('an attempt without a request, as external agents record it', () => {
  const knowing = (...results: readonly object[]) => createFakeStore(({ sql }) => (sql.includes('from trajectories') ? results : []));

  it('is in a trajectory of the first run that has it, with the first record of each attempt', async () => {
    const later = { ...finished, run_id: 'run-b', ...placed(2) };
    const again = { ...finished, reward: 2, ...placed(1) };
    const store = knowing(later, again, finished);
    expect(await readTrajectory(store, 'g.0')).toMatchObject({
      run_id: 'run-a',
      purpose: 'external',
      attempts: [{ requested_at: null, status: 'answered', result: { reward: null } }],
    });
  });

  it('is in a group whose size is the number of finished attempts', async () => {
    const store = knowing(finished, { ...finished, run_id: 'run-b' });
    expect(await readGroup(store, 'g')).toMatchObject({ run_id: 'run-a', group_size: 1, reward_mean: null, requested: [] });
  });
});

describe('a requested trajectory', () => {
  const said = (said_in: string, cells: readonly unknown[], offset: number) => ({
    ...{ said_in, cells: JSON.stringify(cells), ...placed(offset) },
  });
  const task = (attempt: number, offset: number) =>
    said('tasks', ['run-a', 'g', attempt, 'train', 'q', 'Q?', `asked ${attempt} at ${offset}`], offset);

  const trained = (attempt: number) =>
    said('step_trajectories', [7, attempt, 'run-a', 1, 0.5, 1, 1, 0, 1, 1, 0, 10, 5, 'trained'], 20 + attempt);

  /** Reads from a store with these rows; `tables` lists the queried tables. */
  const reading = async (rows: readonly ReturnType<typeof said>[], results: readonly object[]) => {
    const tables: string[] = [];
    const store = createFakeStore(({ sql }) => {
      const asked = [...sql.matchAll(/from (\w+)/g)].map(([, table = '']) => table);
      tables.push(...asked);
      return asked[0] === 'trajectories' ? results : rows.filter(({ said_in }) => asked.includes(said_in));
    });
    return { tables, found: await readTrajectory(store, 'g.0', 'run-a') };
  };

  it('is reported in the order of the log, each attempt once', async () => {
    const discarded = said('discarded_trajectories', [0, 'run-a', 'stale', 3, 2, 'then'], 5);
    const { found } = await reading([task(0, 9), task(0, 7), discarded, discarded], [finished]);
    expect(found).toMatchObject({
      attempts: [{ attempt: 0, requested_at: 'asked 0 at 7', status: 'answered' }],
      training: [],
      discarded: [{ attempt: 0, run_id: 'run-a', reason: 'stale', version: 3, staleness_total: 2, at: 'then' }],
    });
    expect(found?.discarded).toHaveLength(1);
  });

  it('is read from no further tables once every attempt was trained on', async () => {
    const { tables, found } = await reading([task(0, 7), trained(0)], [finished]);
    expect(found).toMatchObject({ attempts: [{ attempt: 0, status: 'answered' }], training: [{ step: 7, attempt: 0 }], discarded: [] });
    expect(tables).toEqual(['tasks', 'step_trajectories', 'discarded_trajectories', 'rewinds', 'trajectories']);
    expect(found).toMatchObject({ collected: [], rewound: [] });
  });

  it.each([
    ['that went back behind its step', [[9, 4]], [{ step: 7, version: 9, to_version: 4 }]],
    ['that kept its step', [[9, 7]], []],
    ['before its step', [[6, 1]], []],
    [
      'of two, of which the first abandoned its step',
      [
        [12, 2],
        [9, 4],
      ],
      [{ step: 7, version: 9, to_version: 4 }],
    ],
  ])('is discarded by a rewind %s, or not', async (_what, rewinds, rewound) => {
    const rows = rewinds.map(([version, to], at) => said('rewinds', ['run-a', version, to, 'then'], 40 + at));
    const { found } = await reading([task(0, 7), trained(0), ...rows], [finished]);
    expect(found?.rewound).toEqual(rewound.map((one) => ({ ...one, attempt: 0, run_id: 'run-a', at: 'then' })));
    expect(found).toMatchObject({ training: [{ step: 7 }] });
  });

  it('has the batch that kept it, in a run that is not trained', async () => {
    const collected = said('collected_trajectories', [3, 0, 'run-a', 1, 0.5, 1, 1, 0, 1, 1, 0, 10, 5, 'then'], 20);
    const { found } = await reading([task(0, 7), collected, collected], [finished]);
    expect(found).toMatchObject({ training: [], collected: [{ batch: 3, attempt: 0, advantage: 0.5, queue_ms: 5, at: 'then' }] });
    expect(found?.collected).toHaveLength(1);
  });

  it('has discards of attempts that were never requested, beside the one that was trained on', async () => {
    const stray = said('discarded_trajectories', [1000, 'run-a', 'invalid', 3, 2, 'then'], 30);
    const { found } = await reading([task(0, 7), trained(0), stray], [finished]);
    expect(found).toMatchObject({ training: [{ attempt: 0 }], discarded: [{ attempt: 1000, reason: 'invalid' }] });
  });

  it('has the starts of attempts that are without a result or were given up', async () => {
    const expired = said('expired_attempts', [0, 'run-a', 'silent'], 8);
    const started = said('trajectory_starts', ['run-a', 1, 'w-1', 'started 1'], 10);
    const { found } = await reading([task(0, 7), expired, task(1, 9), started], [finished]);
    expect(found?.attempts).toMatchObject([
      { attempt: 0, status: 'answered', expired_reason: 'silent' },
      { attempt: 1, status: 'running', worker_id: 'w-1', started_at: 'started 1' },
    ]);
  });

  it('reports an attempt that was given up like the one that was trained on', async () => {
    const expired = said('expired_attempts', [0, 'run-a', 'silent'], 8);
    const late = said('discarded_trajectories', [0, 'run-a', 'expired', 3, 2, 'then'], 12);
    const { found } = await reading([task(0, 7), expired, task(1, 9), trained(1), late], [finished, { ...finished, attempt: 1 }]);
    expect(found?.attempts).toMatchObject([{ expired_reason: 'silent' }, { expired_reason: '' }]);
    expect(found).toMatchObject({ training: [{ attempt: 1 }], discarded: [{ attempt: 0, reason: 'expired' }] });
  });

  it('is read in the order of the log when there are more rows than one query may return', async () => {
    const statements: string[] = [];
    const store = createFakeStore(({ sql }) => {
      statements.push(sql);
      if (/order by/.test(sql)) return [finished];
      return sql.includes('from trajectories')
        ? Array.from({ length: 1000 }, (_, at) => ({ ...finished, attempt: at + 1, ...placed(at + 1) }))
        : [];
    });
    expect((await readTrajectory(store, 'g.0', 'run-a'))?.attempts).toMatchObject([{ attempt: 0 }]);
    expect(statements.filter((sql) => sql.includes('order by _timestamp, _offset'))).toHaveLength(1);
  });
});
