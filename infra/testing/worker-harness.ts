// A worker on an in-memory log, with access to everything that it writes.
import type {
  TrajectoryFinished,
  TrajectoryRequested,
  TrajectoryStarted,
  TurnRecorded,
  WorkerHeartbeat,
} from '../../schemas/generated/events.ts';
import type { EventReader, EventWriter, GroupConsumer, GroupOffsets, LogReader } from '../../streams/core/ports.ts';
import { noMetrics, type RoleStatus } from '../../streams/core/telemetry.ts';
import type { KafkaConnection } from '../kafka/connect.ts';
import { createWorker, type Worker, type WorkerDeps } from '../../producers/rollouts/worker/worker.ts';
import { codecReader } from './codec-reader.ts';
import { silentLogger } from './logger.ts';
import type { MemoryLog } from './memory-log.ts';
import { searchThenAnswer, toolResult, toolsOf } from './scripted-agents.ts';
import { systemClock } from '../lifecycle/clock.ts';

export interface TestWorker {
  readonly worker: Worker;
  readonly statuses: RoleStatus[];
  /** The newest report. */
  status(): RoleStatus | undefined;
}

export type WorkerOverrides = Partial<Omit<WorkerDeps, 'options'>> & { readonly options?: Partial<WorkerDeps['options']> };

/** Not started; stop it when the test ends. */
export function testWorker(
  log: { writer: EventWriter; reader: EventReader; tasks: GroupConsumer; offsets: GroupOffsets; log: LogReader },
  overrides: WorkerOverrides = {},
): TestWorker {
  const statuses: RoleStatus[] = [];
  const { options, ...rest } = overrides;
  const worker = createWorker({
    namespace: 'memory',
    runId: 'run-a',
    workerId: 'w-0',
    ...log,
    newestVersion: () => 3,
    policy: searchThenAnswer(2),
    tools: toolsOf(() => toolResult()),
    clock: systemClock,
    logger: silentLogger,
    metrics: noMetrics,
    report: (status) => statuses.push(status),
    ...rest,
    options: { concurrency: 4, heartbeatMs: 20, reportMs: 10, retryMs: [1, 5], graceMs: 200, drainMs: 200, ...options },
  });
  return { worker, statuses, status: () => statuses.at(-1) };
}

/** Ports of a worker. Like the trainer, sets the group of the workers to the first task unless it has committed offsets. */
export function overMemory(log: MemoryLog) {
  const group = log.groupOf('memory.workers.run-a');
  for (const { partition } of log.partitionsOf('tasks')) {
    if (group.committed('tasks', partition) === undefined) group.setCommitted({ topic: 'tasks', partition, offset: 0 });
  }
  return { writer: log.writer(), reader: codecReader(log.codec), tasks: log.group(), offsets: log.offsets, log: log.reader() };
}

/** Sets the consumer group of the workers to the first task, which is the first action of a trainer. */
export async function beginTasks(kafka: Pick<KafkaConnection, 'transactional'>, namespace: string, partitions: number): Promise<void> {
  const trainer = await kafka.transactional(`${namespace}.trainer.run-a`);
  const positions = Array.from({ length: partitions }, (_, partition) => ({ topic: 'tasks' as const, partition, offset: 0 }));
  await trainer.commit({ events: [], offsets: { group: `${namespace}.workers.run-a`, positions } });
  await trainer.close();
}

/** Writes requests like the trainer. */
export async function request(writer: EventWriter, tasks: readonly TrajectoryRequested[]): Promise<void> {
  await writer.append(tasks.map((event) => ({ type: 'TrajectoryRequested', key: event.trajectory_id, event })));
}

export type AttemptEvent =
  | { readonly type: 'TrajectoryStarted'; readonly event: TrajectoryStarted }
  | { readonly type: 'TurnRecorded'; readonly event: TurnRecorded }
  | { readonly type: 'TrajectoryFinished'; readonly event: TrajectoryFinished };

/** Everything that the workers wrote: events by `<trajectory>/<attempt>` in log order, and heartbeats. */
export function rolloutsOf(log: MemoryLog): {
  readonly attempts: ReadonlyMap<string, readonly AttemptEvent[]>;
  readonly heartbeats: readonly WorkerHeartbeat[];
} {
  const attempts = new Map<string, AttemptEvent[]>();
  const heartbeats: WorkerHeartbeat[] = [];
  for (const record of log.records('rollouts')) {
    const decoded = log.codec.decode(record.value ?? Buffer.alloc(0));
    if (!decoded.ok) throw new Error(`unreadable record at ${record.partition}/${record.offset}`);
    const { value } = decoded;
    if (value.type === 'WorkerHeartbeat') heartbeats.push(value.event);
    if (value.type !== 'TrajectoryStarted' && value.type !== 'TurnRecorded' && value.type !== 'TrajectoryFinished') continue;
    const key = `${value.event.trajectory_id}/${value.event.attempt}`;
    attempts.set(key, [...(attempts.get(key) ?? []), value]);
  }
  return { attempts, heartbeats };
}

export const endOf = (events: readonly AttemptEvent[] | undefined): TrajectoryFinished | undefined => {
  const last = events?.at(-1);
  return last?.type === 'TrajectoryFinished' ? last.event : undefined;
};
