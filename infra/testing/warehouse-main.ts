// A warehouse in its own process, which kills itself with SIGKILL at a chosen call of one of its ports. One argument: JSON of
// WarehouseProcess.
import { createWarehouse, lateTypes } from '../../consumers/warehouse/warehouse.ts';
import { createCodec } from '../../schemas/codec.ts';
import type { GroupConsumer, GroupSession } from '../../streams/core/ports.ts';
import { connectStore } from '../clickhouse/client.ts';
import { connectKafka } from '../kafka/connect.ts';
import { createEventReader } from '../registry/event-reader.ts';
import { createLogger } from '../telemetry/logger.ts';
import { systemClock } from '../lifecycle/clock.ts';

export interface WarehouseProcess {
  readonly brokers: readonly string[];
  readonly namespace: string;
  readonly group: string;
  readonly storeUrl: string;
  readonly database: string;
  readonly batchRecords: number;
  /** The call at which it kills itself: before the call, or after it took effect. Calls are counted from 1. */
  readonly end?: { readonly port: 'commit' | 'insert' | 'append'; readonly call: number; readonly when: 'before' | 'after' };
}

const settings = JSON.parse(process.argv[2] ?? '{}') as WarehouseProcess;
const calls = { commit: 0, insert: 0, append: 0 };

async function mortal<T>(port: keyof typeof calls, work: () => Promise<T>): Promise<T> {
  calls[port] += 1;
  const { end } = settings;
  const now = end?.port === port && end.call === calls[port];
  if (now && end.when === 'before') process.kill(process.pid, 'SIGKILL');
  const result = await work();
  if (now) process.kill(process.pid, 'SIGKILL');
  return result;
}

function mortalGroup(group: GroupConsumer): GroupConsumer {
  const mortalSession = (session: GroupSession): GroupSession => ({
    heartbeat: () => session.heartbeat(),
    isOver: () => session.isOver(),
    commit: (positions) => mortal('commit', () => session.commit(positions)),
  });
  return {
    ...group,
    start: (options) => group.start({ ...options, onBatch: (batch, session) => options.onBatch(batch, mortalSession(session)) }),
  };
}

const logger = createLogger({ level: 'warn', role: 'warehouse' });
const codec = createCodec();
const { brokers, namespace } = settings;
const kafka = connectKafka({ brokers, namespace, clientId: 'test-warehouse', codec, logger, sessionTimeoutMs: 3_000 });
const store = connectStore({ url: settings.storeUrl, database: settings.database });
const writer = await kafka.writer();
const warehouse = createWarehouse({
  group: mortalGroup(kafka.group()),
  offsets: kafka.offsets,
  log: kafka.reader(),
  deadLetters: { ...writer, append: (events) => mortal('append', () => writer.append(events)) },
  reader: createEventReader(createCodec({ late: lateTypes }), { byId: async () => undefined }),
  store: {
    database: store.database,
    ping: () => store.ping(),
    query: (sql, options) => store.query(sql, options),
    stream: (sql, options) => store.stream(sql, options),
    command: (sql, options) => store.command(sql, options),
    insert: (table, rows, token) => mortal('insert', () => store.insert(table, rows, token)),
    close: () => store.close(),
  },
  clock: systemClock,
  logger,
  metrics: { count: () => undefined, set: () => undefined, observe: () => undefined },
  report: () => undefined,
  options: { group: settings.group, producer: `warehouse-${process.pid}`, batchRecords: settings.batchRecords, maxWaitMs: 20 },
});
await warehouse.start();
process.stdout.write('started\n');
process.once('SIGTERM', () => {
  void warehouse
    .stop()
    .then(() => kafka.close())
    .then(() => process.exit(0));
});
await warehouse.finished;
