// The services of one `up`: which there are, where they are, in what order they start.
import type { Logger } from '../../streams/core/ports.ts';
import type { Config } from '../config/descriptors.ts';
import type { RoleName } from '../config/secrets.ts';
import type { Progress } from './progress.ts';
import { freePort, rememberedPort } from './local-ports.ts';
import { measureDisk, type DiskUse } from '../lifecycle/disk-use.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { ensureStorePassword } from '../clickhouse/store/password.ts';
import { kafkaService, storeService } from './local-services.ts';
import type { MetricsMessage } from './messages.ts';
import { prepareLog, prepareStore } from './prepare.ts';
import { roleEnv } from './role-env.ts';
import { roleService, type RoleService, type RoleServiceOptions } from './role-services.ts';
import { startTidying } from './tidy-log.ts';
import { createServiceBoard } from './service-board.ts';
import { watchOwnTrouble, type OwnTrouble } from './own-trouble.ts';
import type { Addresses } from './services-file.ts';
import { createSupervisor, type Supervised, type Supervisor } from './supervisor.ts';

const STOP_MS = 15_000;
const tiers = { store: 1, api: 2, warehouse: 3, worker: 4, trainer: 5, evaluator: 6 } as const;

/** Each query of the store keeps one of Node's IO threads, so its process gets more of them than the usual four. */
const storeThreads = (sessions: number) => ({ UV_THREADPOOL_SIZE: String(sessions + 4) });

/** What is started, and who is told of it. */
export interface FleetOptions {
  readonly config: Config;
  readonly run: string;
  readonly seed: number;
  /** 0 = until it is stopped. */
  readonly steps: number;
  readonly workers: number;
  readonly evaluate: boolean;
  /** infra/cli/turnstream.mjs */
  readonly program: string;
  /** File descriptor for the logs of a child. */
  readonly logOf: (child: string) => number;
  readonly logger: Logger;
  readonly progress: Progress;
  /** Called whenever the progress changed in a way worth a line. */
  readonly onChange: (kind: string, fields: Readonly<Record<string, unknown>>) => void;
}

export interface Fleet {
  /** Resolves when every service was started once and the log and the store are prepared. */
  startAll(): Promise<void>;
  addresses(): Addresses;
  /** Settles when the run is over. */
  readonly trainer: { readonly done: Promise<void> };
  /** Resolves when the held-out questions are answered with the newest policy. */
  evaluateAfter(): Promise<void>;
  readonly failed: Promise<never>;
  stopAll(): Promise<void>;
  killAll(): void;
}

/** Nothing is started yet. */
export function createFleet(options: FleetOptions): Fleet {
  return new LocalFleet(options);
}

type RoleParts = Pick<RoleServiceOptions, 'name' | 'tier' | 'args' | 'onSuccess'> & { readonly role: RoleName };

class LocalFleet implements Fleet {
  readonly failed: Promise<never>;
  readonly trainer: { readonly done: Promise<void> };
  readonly #options: FleetOptions;
  readonly #supervisor: Supervisor;
  readonly #roles = new Map<string, { readonly service: RoleService; readonly supervised: Supervised }>();
  readonly #board = createServiceBoard(Date.now);
  readonly #startedAt = new Date().toISOString();
  readonly #own: OwnTrouble;
  readonly #metrics = createMetrics('up');
  #trainerDone: () => void = () => undefined;
  #evaluator: Promise<void> | undefined;
  #addresses: Addresses = { kafkaBrokers: [], clickhouseUrl: '', apiUrl: '', registryUrl: '' };
  #apiPort = 0;
  #stopTidying: () => Promise<void> = () => Promise.resolve();

  constructor(options: FleetOptions) {
    this.#options = options;
    this.trainer = { done: new Promise((resolve) => (this.#trainerDone = resolve)) };
    this.#own = watchOwnTrouble({
      dataDir: options.config.dataDir,
      onStatus: (status, isNews) => {
        this.#onStatus('up', status);
        if (isNews) options.onChange('health', { service: 'up', ...status });
      },
      measure: () => measureDisk(options.config.dataDir, options.config.namespace),
      onMeasured: (use) => void this.#shareDisk(use),
    });
    this.#supervisor = createSupervisor({
      stopMs: STOP_MS,
      onEvent: (event) => {
        options.progress.event(event);
        this.#board.event(event);
        this.#shareHealth();
        options.onChange(event.kind, { service: event.service, pid: event.pid, detail: event.detail });
        this.#publish();
      },
    });
    this.failed = this.#supervisor.failed;
  }

  addresses(): Addresses {
    return this.#addresses;
  }

  async startAll(): Promise<void> {
    const { progress } = this.#options;
    const log = this.#startLog();
    const store = this.#startStore();
    // The one that fails first is told by `failed`; the other must not become an unhandled rejection.
    store.catch(() => undefined);
    await log;
    this.#startLearning();
    progress.phase('waiting for the store');
    await store;
    await this.#startReading();
    this.#startTidying();
  }

  async evaluateAfter(): Promise<void> {
    await this.#evaluateBefore();
    await this.#addEvaluator('evaluator-after', ['--policy', 'newest']);
  }

  async stopAll(): Promise<void> {
    await this.#stopTidying();
    await this.#supervisor.stopAll();
    this.#own.close();
  }

  killAll(): void {
    this.#supervisor.killAll();
  }

  async #startLog(): Promise<void> {
    const { config, logger, progress } = this.#options;
    if (config.kafkaBrokers.length > 0) {
      this.#move({ kafkaBrokers: config.kafkaBrokers });
    } else {
      progress.phase('starting Kafka');
      const onAddress = (brokers: readonly string[]): void => {
        this.#move({ kafkaBrokers: brokers });
      };
      await this.#supervisor.add(kafkaService({ config, logger, onAddress })).started;
    }
    progress.phase('preparing topics and questions');
    await prepareLog({ ...config, kafkaBrokers: this.#addresses.kafkaBrokers }, logger);
  }

  async #startStore(): Promise<void> {
    const { config } = this.#options;
    if (config.clickhouseUrl === '') await this.#startOwnStore();
    else this.#move({ clickhouseUrl: config.clickhouseUrl });
    await prepareStore({ ...config, clickhouseUrl: this.#addresses.clickhouseUrl });
  }

  async #startOwnStore(): Promise<void> {
    const { config } = this.#options;
    // The store reads it from its file, so that it is in no environment.
    ensureStorePassword(config.dataDir, config.clickhousePassword);
    const port = config.storePort === 0 ? await rememberedPort(config.dataDir, 'store') : config.storePort;
    const url = `http://127.0.0.1:${port}`;
    const env = { ...storeThreads(config.storeSessions), TURNSTREAM_STORE_PORT: String(port) };
    const service = this.#role({ role: 'store', name: 'store', tier: tiers.store, args: ['store'], onSuccess: 'restart' }, env);
    const launch = { start: () => service.start(), failure: () => service.failure() };
    const onSteady = (): void => {
      supervised.healthy();
    };
    const supervised = this.#supervisor.add(storeService({ url, ...launch, onSteady }));
    await supervised.started;
    this.#move({ clickhouseUrl: url });
  }

  #startLearning(): void {
    const { run, seed, steps, workers } = this.#options;
    const trainer = ['trainer', '--run', run, '--seed', String(seed), '--steps', String(steps)];
    const { done } = this.#add({ role: 'trainer', name: 'trainer', tier: tiers.trainer, args: trainer, onSuccess: 'done' });
    void done.then(() => {
      this.#board.finished('trainer');
      this.#shareHealth();
      this.#trainerDone();
    });
    for (let number = 1; number <= workers; number += 1) {
      const name = `worker-${number}`;
      this.#add({ role: 'worker', name, tier: tiers.worker, args: ['worker', '--run', run, '--name', name], onSuccess: 'restart' });
    }
  }

  async #startReading(): Promise<void> {
    const { config } = this.#options;
    this.#apiPort = config.apiPort === 0 ? await freePort() : config.apiPort;
    const host = ['0.0.0.0', '::'].includes(config.apiHost) ? '127.0.0.1' : config.apiHost;
    const apiUrl = `http://${host.includes(':') ? `[${host}]` : host}:${this.#apiPort}`;
    this.#move({ apiUrl, registryUrl: config.schemaRegistryUrl === '' ? `${apiUrl}/registry` : config.schemaRegistryUrl });
    this.#add({ role: 'warehouse', name: 'warehouse', tier: tiers.warehouse, args: ['warehouse'], onSuccess: 'restart' });
    this.#add({ role: 'api', name: 'api', tier: tiers.api, args: ['api'], onSuccess: 'restart' });
  }

  /** A Kafka that was configured keeps what its owner says. */
  #startTidying(): void {
    const { config, run, logger, onChange } = this.#options;
    if (config.kafkaBrokers.length > 0) return;
    this.#stopTidying = startTidying({
      ...{ run, logger },
      config: () => ({ ...config, kafkaBrokers: this.#addresses.kafkaBrokers, clickhouseUrl: this.#addresses.clickhouseUrl }),
      onCut: ({ released }) => {
        onChange('log_cut', { released });
      },
    });
  }

  /** Once, and not before the first step: the workers have enough to do until then. */
  #evaluateBefore(): Promise<void> {
    return (this.#evaluator ??= this.#addEvaluator('evaluator-before', ['--policy', '0']));
  }

  #addEvaluator(name: string, args: readonly string[]): Promise<void> {
    const { run } = this.#options;
    const all = ['evaluate', '--run', run, '--name', name, ...args];
    const { done } = this.#add({ role: 'evaluator', name, tier: tiers.evaluator, args: all, onSuccess: 'done' });
    return done.then(() => {
      this.#options.progress.finished(name);
      this.#board.finished(name);
      this.#shareHealth();
    });
  }

  #add(options: RoleParts): Supervised {
    const service = this.#role(options, {});
    const supervised = this.#supervisor.add(service);
    this.#roles.set(options.name, { service, supervised });
    return supervised;
  }

  #role(options: RoleParts, extra: Readonly<Record<string, string>>): RoleService {
    const { program, logOf } = this.#options;
    return roleService({
      ...options,
      program,
      log: logOf(options.name),
      env: () => ({ ...this.#env(options.role), ...extra }),
      onStatus: (status) => {
        this.#onStatus(options.name, status);
      },
      onMetrics: (message) => {
        this.#passMetrics(message);
      },
    });
  }

  #onStatus(name: string, status: Parameters<FleetOptions['progress']['status']>[1]): void {
    const { progress, evaluate, onChange } = this.#options;
    progress.status(name, status);
    if (this.#board.status(name, status) || name === 'api') this.#shareHealth();
    onChange('status', { service: name, ...status });
    if (status.state === 'live' || status.state === 'incomplete') this.#roles.get(name)?.supervised.healthy();
    if (evaluate && (status.figures['step'] ?? 0) >= 1 && name === 'trainer') void this.#evaluateBefore();
  }

  /** The API answers for all of them; it is told when something changed, and whatever there is when it comes back. */
  #shareHealth(): void {
    this.#roles.get('api')?.service.pass({ type: 'health', services: this.#board.services() });
  }

  async #shareDisk({ free_bytes: free, parts }: DiskUse): Promise<void> {
    this.#metrics.set('disk_free_bytes', {}, free);
    for (const { part, bytes } of parts) this.#metrics.set('disk_used_bytes', { part }, bytes);
    this.#passMetrics({ type: 'metrics', role: 'up', metrics: await this.#metrics.snapshot() });
  }

  #passMetrics(message: MetricsMessage): void {
    if (message.role !== 'api') this.#roles.get('api')?.service.pass(message);
  }

  #env(role: RoleName): Readonly<Record<string, string | undefined>> {
    const { kafkaBrokers, clickhouseUrl } = this.#addresses;
    const port = this.#apiPort === 0 ? {} : { apiPort: this.#apiPort };
    return roleEnv(role, { ...this.#options.config, kafkaBrokers, clickhouseUrl, ...port, healthPort: 0 }, process.env);
  }

  /** A new address: written down for other programs, and roles that were started with the old one start again. */
  #move(change: Partial<Addresses>): void {
    const before = this.#addresses;
    this.#addresses = { ...before, ...change };
    this.#options.progress.addresses(this.#addresses);
    const moved = before.kafkaBrokers.length > 0 && before.kafkaBrokers.join() !== this.#addresses.kafkaBrokers.join();
    if (moved) for (const { supervised } of this.#roles.values()) supervised.bounce();
    this.#publish();
  }

  #publish(): void {
    const processes = this.#supervisor.all().flatMap((one) => {
      const pid = one.pid();
      return pid === undefined ? [] : [[one.name, pid] as const];
    });
    const { run } = this.#options;
    this.#own.publish({ ...this.#addresses, run, startedAt: this.#startedAt, processes: Object.fromEntries(processes) });
  }
}
