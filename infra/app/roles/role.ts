// A role as a process: configuration, telemetry, signals, exit code. The first SIGTERM or SIGINT, or the end of the supervisor, asks the
// role to stop. After STOP_MS or a second signal the process ends immediately; the log delivers again what it had not committed. The exit
// code says why it ended (exit-codes.ts).
import type { ReachPoint } from '../../../streams/core/crash-points.ts';
import { isPlatformError, messageOf } from '../../../streams/core/errors.ts';
import type { Logger, SkippedRange } from '../../../streams/core/ports.ts';
import type { ReportStatus, RoleStatus } from '../../../streams/core/telemetry.ts';
import type { Config } from '../../config/descriptors.ts';
import { reachFor } from '../../lifecycle/crash-at.ts';
import { listenForInterrupts } from '../../lifecycle/interrupts.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { createMetrics, type MetricsSnapshot, type ProcessMetrics } from '../../telemetry/metrics.ts';
import { startHealthServer, type HealthServer } from '../../http/health-server.ts';
import type { ServiceHealth } from '../../telemetry/health.ts';
import { createStatusChannel } from '../../telemetry/status.ts';
import { createCompleteness } from './completeness.ts';
import { exitCodeOf, exitCodes } from '../exit-codes.ts';
import { parseHealthMessage, parseMetricsMessage, type FromRole } from '../messages.ts';

/** The context of every role. */
export interface RoleContext {
  readonly config: Config;
  /** Unique among the processes of a machine, e.g. `worker-1`. */
  readonly name: string;
  readonly logger: Logger;
  readonly metrics: ProcessMetrics;
  readonly report: ReportStatus;
  /** Called when records that the role should read are gone: it is incomplete instead of live until its next start. */
  readonly onSkipped: (skipped: SkippedRange) => void;
  readonly status: () => RoleStatus;
  /** Latest metrics of the other roles, if a supervisor forwards them. */
  readonly metricsOfOthers: () => readonly MetricsSnapshot[];
  /** Health of every service of the supervisor, if there is one. */
  readonly services: () => readonly ServiceHealth[];
  readonly reach: ReachPoint;
  /** A supervisor runs this process: it starts the next one of this name only after this one has ended. */
  readonly supervised: boolean;
}

/** Runs a role until it is finished or the signal aborts; resolves when it has fully stopped. */
export type RoleMain = (context: RoleContext, signal: AbortSignal) => Promise<'finished' | 'stopped'>;

const STOP_MS = 12_000;
const METRICS_MS = 5_000;

export interface RoleDefinition {
  readonly name: string;
  readonly config: Config;
  readonly main: RoleMain;
  /** The run of the process, for roles that have one. */
  readonly run?: string;
}

/** What a role uses of its process. */
export interface RoleHost {
  /** Emits signals, `message` and `disconnect`, like a process. */
  readonly events: NodeJS.EventEmitter;
  /** Sends a message to the supervisor and resolves when it is written or the channel is closed; undefined without a supervisor. */
  readonly send: ((message: FromRole) => Promise<void>) | undefined;
  readonly exit: (code: number) => void;
}

/** This process. */
function processHost(): RoleHost {
  const send = (message: FromRole): Promise<void> =>
    new Promise((resolve) => {
      if (!process.connected) resolve();
      else
        process.send?.(message, undefined, undefined, () => {
          resolve();
        });
    });
  return { events: process, send: process.send === undefined ? undefined : send, exit: (code) => process.exit(code) };
}

/** Runs a role in this process and returns the exit code. */
export async function runRole({ name, config, main, run }: RoleDefinition, host: RoleHost = processHost()): Promise<number> {
  const logger = createLogger({ level: config.logLevel, role: name });
  const stop = listenForStop(host);
  const metrics = createMetrics(name, run);
  const status = createStatusChannel({ role: name, logger, send: host.send && ((message) => void host.send?.(message)) });
  const others = receiveFromSupervisor(host);
  const { report, onSkipped } = createCompleteness(status.report);
  const timer = setInterval(() => {
    void metrics.snapshot().then((snapshot) => host.send?.({ type: 'metrics', role: name, metrics: snapshot }));
  }, METRICS_MS).unref();
  let health: HealthServer | undefined;
  try {
    const reach = reachFor(config.crashAt);
    const current = (): RoleStatus => status.current();
    if (config.healthPort > 0) health = await openHealth({ name, config, status: current, sinceMs: () => status.sinceMs(), metrics });
    const passed = { onSkipped, metricsOfOthers: others.metrics, services: others.services };
    const end = await main(
      { config, name, logger, metrics, report, status: current, reach, supervised: host.send !== undefined, ...passed },
      stop.signal,
    );
    return end === 'stopped' && host.send !== undefined ? exitCodes.stopped : exitCodes.ok;
  } catch (error) {
    const code = isPlatformError(error) ? error.code : 'INTERNAL';
    logger.error({ code, err: error }, messageOf(error));
    await host.send?.({ type: 'failed', code, message: messageOf(error) });
    return exitCodeOf(error);
  } finally {
    clearInterval(timer);
    await health?.close();
    others.close();
    stop.close();
  }
}

interface HealthParts {
  readonly name: string;
  readonly config: Config;
  readonly status: () => RoleStatus;
  readonly sinceMs: () => number;
  readonly metrics: ProcessMetrics;
}

/** Opens the configured health port. */
function openHealth({ name, config, status, sinceMs, metrics }: HealthParts): Promise<HealthServer> {
  const { healthHost: host, healthPort: port } = config;
  return startHealthServer({ host, port, role: name, status, sinceMs, metricsText: () => metrics.text() });
}

/** Aborts on a signal or when the supervisor ends; ends the process when a stop takes too long, or on a second signal. */
function listenForStop({ events, exit }: RoleHost) {
  const abandon = (): void => {
    exit(exitCodes.interrupted);
  };
  const interrupts = listenForInterrupts({ now: () => performance.now(), onSecond: abandon, source: events });
  const orphaned = new AbortController();
  const onDisconnect = (): void => {
    orphaned.abort('the supervisor is gone');
  };
  events.once('disconnect', onDisconnect);
  const signal = AbortSignal.any([interrupts.signal, orphaned.signal]);
  let deadline: NodeJS.Timeout | undefined;
  signal.addEventListener('abort', () => (deadline = setTimeout(abandon, STOP_MS).unref()), { once: true });
  return {
    signal,
    close() {
      clearTimeout(deadline);
      events.off('disconnect', onDisconnect);
      interrupts.close();
    },
  };
}

/** Receives what the supervisor forwards from the other roles; empty without a supervisor. */
function receiveFromSupervisor({ events }: RoleHost) {
  const byRole = new Map<string, MetricsSnapshot>();
  let services: readonly ServiceHealth[] = [];
  const onMessage = (message: unknown): void => {
    const parsed = parseMetricsMessage(message);
    if (parsed !== undefined) byRole.set(parsed.role, parsed.metrics);
    services = parseHealthMessage(message)?.services ?? services;
  };
  events.on('message', onMessage);
  return { metrics: () => [...byRole.values()], services: () => services, close: () => void events.off('message', onMessage) };
}
