// A worker in its own process, which a test can freeze and kill. Arguments: broker, namespace, worker id, turn time. It ends when its
// parent disconnects, or on request.
import { createCodec } from '../../schemas/codec.ts';
import { connectKafka } from '../kafka/connect.ts';
import { createEventReader } from '../registry/event-reader.ts';
import { silentLogger } from './logger.ts';
import { slowSearches } from './scripted-agents.ts';
import { testWorker } from './worker-harness.ts';

const [broker = '', namespace = '', workerId = '', turnMs = '50'] = process.argv.slice(2);
const codec = createCodec();
const kafka = connectKafka({ brokers: [broker], namespace, clientId: workerId, codec, logger: silentLogger, sessionTimeoutMs: 6_000 });
const { worker } = testWorker(
  {
    writer: await kafka.writer(),
    reader: createEventReader(codec, { byId: async () => undefined }),
    tasks: kafka.group(),
    offsets: kafka.offsets,
    log: kafka.reader(),
  },
  { namespace, workerId, policy: slowSearches(5, Number(turnMs)), options: { concurrency: 3, heartbeatMs: 500 } },
);
process.on('disconnect', () => {
  process.exit(0);
});
await worker.start(new AbortController().signal);
process.send?.('started');
