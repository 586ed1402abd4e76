// The local Kafka and the embedded store as supervised services. Both keep their ports and their data across restarts. If another program
// has taken a port meanwhile, they get a new one and call `onAddress`.
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { startLocalKafka } from '../../kafka/broker/local.ts';
import type { OnDownload } from '../../kafka/broker/maven-download.ts';
import { pause } from '../../lifecycle/waiting.ts';
import { pings } from '../open/local-ports.ts';
import type { Exit, RunningProcess, Service } from './service.ts';

/** The local Kafka. It never finishes by itself: the supervisor restarts it after any exit. */
export function kafkaService(options: {
  readonly config: Config;
  readonly logger: Logger;
  readonly onAddress: (brokers: readonly string[]) => void;
  readonly onDownload: OnDownload;
}): Service {
  return {
    name: 'kafka',
    tier: 0,
    async launch(signal) {
      const { config, logger, onDownload } = options;
      const kafka = await startLocalKafka({ dataDir: config.dataDir, logger, signal, onDownload });
      options.onAddress(kafka.brokers);
      const exited = kafka.exited.then((code): Exit => ({ code, signal: code === null ? 'SIGKILL' : null }));
      return {
        pid: kafka.pid,
        exited,
        stop: () => kafka.stop(),
        kill: () => {
          kafka.kill();
        },
      };
    },
    judge: () => 'restart',
  };
}

/** If a store exits sooner than this, the wait before the next start grows, up to 5 s. */
const STEADY_MS = 30_000;

/** The store process. It is ready when its engine answers. */
export function storeService(options: {
  readonly url: string;
  readonly start: () => Promise<RunningProcess>;
  /** The error that its last process reported. */
  readonly failure: () => Error | undefined;
  /** Called when it has been answering for `steadyMs`: the wait before its next restart is short again. */
  readonly onSteady?: () => void;
  readonly steadyMs?: number;
}): Service {
  return {
    name: 'store',
    tier: 1,
    async launch(signal) {
      const running = await options.start();
      await answering(options.url, running, signal).catch((error: unknown) => {
        throw options.failure() ?? error;
      });
      const steady = setTimeout(() => options.onSteady?.(), options.steadyMs ?? STEADY_MS).unref();
      void running.exited.finally(() => {
        clearTimeout(steady);
      });
      return running;
    },
    judge: () => {
      const failure = options.failure();
      return failure === undefined ? 'restart' : { fatal: failure };
    },
  };
}

async function answering(url: string, running: RunningProcess, signal: AbortSignal): Promise<void> {
  let exit: Exit | undefined;
  void running.exited.then((ended) => {
    exit = ended;
  });
  for (;;) {
    if (exit !== undefined) {
      throw new PlatformError(
        'STORE_UNAVAILABLE',
        `starting the embedded store: it ended with ${exit.signal ?? `code ${String(exit.code)}`}; its log says why`,
      );
    }
    if (signal.aborted || (await pings(url))) return;
    await pause(50, signal);
  }
}
