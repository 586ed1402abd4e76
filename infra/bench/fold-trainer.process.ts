// The trainer's reader in a process of its own: `node fold-trainer.process.js <job as JSON>`; answers over the IPC channel.
import { createRolloutFeed } from '../../consumers/trainer/rollout-feed.ts';
import { createLiveness } from '../../streams/trainer/liveness.ts';
import { createCodec } from '../../schemas/codec.ts';
import { loadGroupId } from '../../producers/load/load.ts';
import { foldTask } from '../../streams/run/fold.ts';
import { rolloutView } from '../../streams/trajectory/rollout-view.ts';
import { newRunState } from '../../streams/run/run-state.ts';
import { connectKafka } from '../kafka/connect.ts';
import { partitionOf } from '../kafka/writing/partitioner.ts';
import { createEventReader } from '../registry/event-reader.ts';
import { createLogger } from '../telemetry/logger.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import type { FoldJob, FoldMeasure } from './fold-job.ts';
import { requestsOf } from './fold-topic.ts';
import { createWatch } from './fold-watch.ts';

const PARTITIONS = 8;
/**
 * Open groups per partition: many more than end within one fetch, because the next ones are admitted only after it. With fewer, some
 * records would arrive before their group, and fewer groups would become ready than were written.
 */
const WINDOW = 1_024;

/** The trainer's code path: groups are admitted, and closed as they become ready. */
async function fold({ brokers, topic }: FoldJob): Promise<FoldMeasure> {
  const logger = createLogger({ level: 'warn', role: 'bench' });
  const connection = connectKafka({ brokers, clientId: 'fold', namespace: topic.namespace, codec: createCodec(), logger });
  const events = createEventReader(createCodec({ view: rolloutView }), { byId: async () => undefined });
  const state = newRunState(topic.runId);
  const admission = createAdmission(topic, (index) => {
    requestsOf(topic, index).forEach((request, sample) => {
      foldTask(state, request, { partition: 0, offset: index * 8 + sample });
    });
  });
  let ready = 0;
  const watch = createWatch(topic.records);
  const log = connection.reader();
  const liveness = createLiveness({ silenceMs: 60_000 });
  const feed = createRolloutFeed({
    state,
    log: {
      ...log,
      follow: (options) =>
        log.follow({
          ...options,
          onBatch: async (batch) => {
            watch.begin();
            await options.onBatch(batch);
            watch.count(batch.records.length);
          },
        }),
    },
    rollouts: events,
    signs: {
      heard(workerId, sign) {
        liveness.heard(workerId, { ...sign, nowMs: performance.now() });
      },
      live: () => undefined,
    },
    metrics: createMetrics('bench'),
    onFolded() {
      for (const id of state.decided) {
        ready += 1;
        state.groups.delete(id);
        state.decided.delete(id);
        admission.next(id);
      }
    },
    onError(error) {
      throw error;
    },
  });
  await feed.start();
  const measure = await watch.done;
  await feed.close();
  await connection.close();
  return { ...measure, ready };
}

/** Keeps a window of groups open in each partition, in arrival order. */
function createAdmission(topic: FoldJob['topic'], open: (index: number) => void) {
  const waiting = Array.from({ length: PARTITIONS }, (): number[] => []);
  const partition = (id: string): number => partitionOf(Buffer.from(id), PARTITIONS);
  for (let index = topic.groups - 1; index >= 0; index -= 1) waiting[partition(loadGroupId(topic.runId, index))]?.push(index);
  function next(list: number[] | undefined): void {
    const index = list?.pop();
    if (index !== undefined) open(index);
  }
  for (const list of waiting) for (let at = 0; at < WINDOW; at += 1) next(list);
  return {
    next: (settled: string): void => {
      next(waiting[partition(settled)]);
    },
  };
}

const measure = await fold(JSON.parse(process.argv[2] ?? '') as FoldJob);
process.send?.(measure, () => process.exit(0));
