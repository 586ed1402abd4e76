// Where a trainer over the in-memory log resumes a run, and with which settings.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { stopFollowing } from '../../infra/testing/follow-events.ts';
import { newRig, scriptedWorker, settings, type Rig } from '../../infra/testing/trainer-rig.ts';
import type { LogReader, RunIndex } from '../../streams/core/ports.ts';
import type { TrainerDeps } from './deps.ts';
import { assertWorkerSettings } from './settings.ts';
import { runTrainer } from './trainer.ts';

const WAIT = { timeout: 10_000, interval: 20 };
afterEach(stopFollowing);
const never = new AbortController().signal;

describe('where a run begins', () => {
  const nowhere: RunIndex = { startOf: async () => undefined, note: async () => undefined };
  const at = (training: number): RunIndex => ({ ...nowhere, startOf: async () => ({ training, policies: 0 }) });
  const forgotten = { fetch: async () => [] };

  it('is found by its offsets, by the index, or in the whole ledger, whichever there is', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const one = { settings: { ...settings, steps: 1 } };
    await runTrainer(rig.deps(one), never);
    const unplaced = { fetch: async () => [{ partition: 0, offset: 3, metadata: '' }] };
    const ways: readonly Partial<TrainerDeps>[] = [
      ...[{}, { index: nowhere }, { index: at(0) }, { index: at(0), offsets: forgotten }],
      // offsets from a version that committed different ones; an index that is wrong or whose topic was recreated
      ...[
        { index: nowhere, offsets: unplaced },
        { index: at(1_000_000), offsets: forgotten },
        { index: at(2), offsets: forgotten },
      ],
    ];
    for (const way of ways) await expect(runTrainer(rig.deps({ ...one, ...way }), never)).rejects.toMatchObject({ code: 'RUN_FINISHED' });
  });

  it('is noted before its first entry, and nothing of other runs is read for a new one', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const noted: unknown[] = [];
    const index: RunIndex = {
      startOf: async () => undefined,
      note: async (run, start) => void noted.push({ run, ...start, entries: (await rig.all('training')).length }),
    };
    const inner = rig.log.reader();
    const read: string[] = [];
    const log: LogReader = {
      ...inner,
      readToEnd: async (topic, options) => {
        read.push(topic);
        await inner.readToEnd(topic, options);
      },
    };
    await runTrainer(rig.deps({ index, log, settings: { ...settings, steps: 1 } }), never);
    expect(noted).toMatchObject([{ run: 'run-a', training: 0, policies: 0, entries: 0 }]);
    expect(noted[0]).toMatchObject({ rollouts: expect.arrayContaining([0]) as unknown, tasks: expect.arrayContaining([0]) as unknown });
    expect(read).not.toContain('training');
    expect(read).not.toContain('policies');
  });

  it('cannot be found in a topic with two partitions', async () => {
    const rig = newRig();
    const log = new MemoryLog({ partitions: { training: 2 } });
    await expect(runTrainer(rig.deps({ log: log.reader() }), never)).rejects.toMatchObject({
      code: 'TOPIC_MISMATCH',
      message: expect.stringContaining('training has 2 partitions') as string,
    });
  });
});

describe('the settings of a run that is resumed', () => {
  const workerSettings = { policy: 'llm', llmModel: 'a', answersToEnd: 1 };
  const begun = async (): Promise<Rig> => {
    const rig = newRig();
    const stop = new AbortController();
    const running = runTrainer(rig.deps({ workerSettings }), stop.signal);
    await vi.waitFor(async () => {
      expect((await rig.all('tasks')).length).toBeGreaterThan(0);
    }, WAIT);
    stop.abort();
    await running;
    return rig;
  };

  it('are those that it was started with, in every request', async () => {
    const rig = await begun();
    await scriptedWorker(rig);
    const other = { ...settings, reward: 'em', maxTurns: 99, maxTokens: 1, maxWallMs: 1_000_000 };
    await runTrainer(rig.deps({ workerSettings, settings: other }), never);
    const requests = (await rig.all('tasks')).flatMap((read) => (read.type === 'TrajectoryRequested' ? [read.event] : []));
    const told = requests.map(({ reward, max_turns: turns, max_tokens: tokens, max_wall_ms: ms }) => [reward, turns, tokens, ms].join());
    expect(requests.length).toBeGreaterThan(16);
    expect(new Set(told)).toEqual(new Set(['f1,8,1000,60000']));
  });

  it('are refused by name when settings of the workers differ', async () => {
    const rig = await begun();
    await expect(runTrainer(rig.deps({ workerSettings: { ...workerSettings, llmModel: 'b' } }), never)).rejects.toMatchObject({
      code: 'RUN_CONFLICT',
      message:
        'resuming run run-a: llmModel is "b", the run was started with "a"; use the settings that it was started with, or start another run',
    });
    const { answersToEnd: _, ...fewer } = workerSettings;
    await expect(runTrainer(rig.deps({ workerSettings: fewer }), never)).rejects.toMatchObject({ code: 'RUN_CONFLICT' });
  });

  it('include the hash of a module if both sides have it, and no addresses', () => {
    const module = { policy: 'module', policyModule: 'agent.mjs' };
    const run = (workers: object) => ({ run_id: 'r', settings: JSON.stringify({ workers }) });
    const recorded = run({ ...module, policy_sha256: 'aa', retrievalUrl: 'sha256:1' });
    assertWorkerSettings({ ...module, policy_sha256: 'aa' }, recorded);
    assertWorkerSettings({ ...module, retrievalUrl: 'sha256:2' }, recorded);
    assertWorkerSettings({ ...module, policy_sha256: 'bb' }, run(module));
    expect(() => {
      assertWorkerSettings({ ...module, policy_sha256: 'bb' }, recorded);
    }).toThrow('resuming run r: policy_sha256 is "bb", the run was started with "aa"');
  });

  it('are not compared where an older version recorded none', () => {
    for (const text of ['', '{}', '[]', 'null']) assertWorkerSettings(workerSettings, { run_id: 'r', settings: text });
  });
});
