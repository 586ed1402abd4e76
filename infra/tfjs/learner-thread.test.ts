import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { createRecordingLogger } from '../testing/logger.ts';
import { hyperOf } from './hyper.ts';
import type { LearnerReply } from './learner-protocol.ts';
import { serveLearner } from './learner-service.ts';
import { startThread } from './learner-thread.ts';
import { createLearner } from './learner.ts';

const architecture = { format: 'mlp-f32-v1', inputs: 2, hidden: [4] } as const;
const settings = { architecture, backend: 'cpu', hyper: hyperOf('grpo', 0.01) } as const;
const scripted = (script: string): Worker =>
  new Worker(`const { parentPort: port } = require('node:worker_threads'); ${script}`, { eval: true });

describe('a learner thread that dies', { timeout: 60_000 }, () => {
  it('rejects the pending calls and all later ones with the error that ended it', async () => {
    const thread = await startThread(
      scripted(`port.postMessage({ kind: 'ready', backend: 'cpu' }); port.on('message', () => { throw new Error('out of luck'); });`),
      undefined,
    );
    const first = thread.ask({ kind: 'initial', seed: 1 });
    const second = thread.ask({ kind: 'initial', seed: 2 });
    await expect(first).rejects.toMatchObject({ code: 'INTERNAL', message: expect.stringContaining('crashed (out of luck)') as string });
    await expect(second).rejects.toThrow('out of luck');
    await expect(thread.ask({ kind: 'initial', seed: 3 })).rejects.toThrow('out of luck');
    await thread.close();
  });

  it('rejects calls when it exits without throwing an error', async () => {
    const thread = await startThread(
      scripted(`port.postMessage({ kind: 'ready', backend: 'cpu' }); port.on('message', () => process.exit(7));`),
      undefined,
    );
    await expect(thread.ask({ kind: 'initial', seed: 1 })).rejects.toThrow('ended with code 7');
  });

  it('fails to start when it dies before it is ready', async () => {
    await expect(startThread(scripted(`throw new Error('no start')`), undefined)).rejects.toThrow('no start');
    await expect(startThread(scripted(`process.exit(3)`), undefined)).rejects.toThrow('ended with code 3');
  });
});

describe('createLearner', { timeout: 60_000 }, () => {
  it('reports a backend that cannot be loaded', async () => {
    const options = { architecture, algorithm: 'grpo', learningRate: 0.01, backend: 'tfjs-node' } as const;
    await expect(createLearner(options)).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
  });

  it('logs to the given logger, reports the decisions that it leaves out, and rejects calls after it was closed', async () => {
    const logger = createRecordingLogger();
    const learner = await createLearner({ architecture, algorithm: 'reinforce', learningRate: 0.01, backend: 'cpu', logger });
    const start = await learner.initial(1);
    const turn = { features: Buffer.alloc(8), candidates: 1, width: 2, chosen: 0, logprob: NaN, version: 0, reward: 0 };
    const end = await learner.train({ step: 1, trajectories: [{ trajectoryId: 't', reward: 1, advantage: 1, turns: [turn] }] });
    expect(end.weights.equals(start.weights)).toBe(true);
    expect(end.metrics).toMatchObject({ loss: 0, ess: 0 });
    expect(logger.lines.map(({ message }) => message)).toEqual([
      'tensor backend chosen',
      'decisions left out of the update: malformed or of unknown probability',
    ]);
    await learner.close();
    await learner.close();
    await expect(learner.initial(1)).rejects.toThrow('closed');
  });

  it('answers calls in the order in which they were made, including those made before close', async () => {
    const learner = await createLearner({ architecture, algorithm: 'grpo', learningRate: 0.01, backend: 'cpu' });
    const calls = [learner.initial(1), learner.initial(2), learner.close()] as const;
    const [first, second] = await Promise.all(calls);
    expect(first.weights.equals(second.weights)).toBe(false);
  });
});

describe('serveLearner', () => {
  it('answers, refuses, and closes its port', async () => {
    const { port1, port2 } = new MessageChannel();
    const replies: LearnerReply[] = [];
    port2.on('message', (reply: LearnerReply) => replies.push(reply));
    await serveLearner(port1, settings);
    port2.postMessage({ id: 1, request: { kind: 'train', packed: { step: 1 } } });
    port2.postMessage({ id: 2, request: { kind: 'initial', seed: 1 } });
    port2.postMessage({ id: 3, request: { kind: 'close' } });
    await once(port2, 'close');
    expect(replies.map(({ kind }) => kind)).toEqual(['log', 'ready', 'refusal', 'answer', 'answer']);
  });

  it('says why it cannot start', async () => {
    const { port1, port2 } = new MessageChannel();
    const replies: LearnerReply[] = [];
    port2.on('message', (reply: LearnerReply) => replies.push(reply));
    await serveLearner(port1, { ...settings, backend: 'tfjs-node' });
    await once(port2, 'close');
    expect(replies).toMatchObject([{ kind: 'failed', code: 'BACKEND_UNAVAILABLE' }]);
  });
});
