// The services of one `up`: which there are, where they are, in what order they start.
import type { RoleStatus } from '../../../streams/core/telemetry.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { trainsPolicy } from '../../config/learning.ts';
import type { RoleName } from '../../config/secrets.ts';
import type { ProcessEnv } from '../../lifecycle/inherited-env.ts';
import { apiService, apiUrlOf } from './api-service.ts';
import { createCrew, type Crew } from './crew.ts';
import { tellDownload } from './download.ts';
import type { FleetProgress } from './progress.ts';
import { rememberedPort } from '../open/local-ports.ts';
import { measureDisk, type DiskUse } from '../../lifecycle/disk-use.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { ensureStorePassword } from '../../clickhouse/store/password.ts';
import { kafkaService, storeService } from './local-services.ts';
import { prepareLog, prepareStore } from '../open/prepare.ts';
import { roleEnv } from './role-env.ts';
import { startTidying } from './tidy-log.ts';
import { watchOwnTrouble, type OwnTrouble } from './own-trouble.ts';
import type { ConfiguredAddresses } from '../open/services-file.ts';
import { createSupervisor, type Supervisor } from './supervisor.ts';
import type { TrainingRun } from './training.ts';
import { deferred } from '../../../streams/core/waiting.ts';

const STOP_MS = 15_000;
const tiers = { store: 1, api: 2, warehouse: 3, worker: 4, trainer: 5, evaluator: 6 } as const;

/** Each running query of the store occupies one of Node's IO threads, so its process gets more of them than the default of four. */
const storeThreads = (sessions: number) => ({ UV_THREADPOOL_SIZE: String(sessions + 4) });

/** What is started, and who is notified. */
export interface FleetOptions {
  readonly config: Config;
  /** Undefined: existing data is served, and nothing is trained. */
  readonly training: TrainingRun | undefined;
  /** The port of the API was given explicitly: no other port is used. */
  readonly apiPortFixed: boolean;
  /** infra/cli/turnstream.mjs */
  readonly program: string;
  /** File descriptor for the logs of a child. */
  readonly logOf: (child: string) => number;
  readonly logger: Logger;
  readonly progress: FleetProgress;
  /** Called for each event that may be worth a line of output. */
  readonly onChange: (kind: string, fields: Readonly<Record<string, unknown>>) => void;
}

export interface Fleet {
  /** Resolves when every service was started once and the log and the store are prepared. */
  startAll(): Promise<void>;
  addresses(): ConfiguredAddresses;
  /** Settles when the run is over; never when nothing is trained. */
  readonly trainer: { readonly done: Promise<void> };
  /** Whether the run ended before its last step or batch, because continuing was pointless; then nothing more is evaluated. */
  endedEarly(): boolean;
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

class LocalFleet implements Fleet {
  readonly failed: Promise<never>;
  readonly trainer: { readonly done: Promise<void> };
  readonly #options: FleetOptions;
  readonly #supervisor: Supervisor;
  readonly #crew: Crew;
  readonly #startedAt = new Date().toISOString();
  readonly #own: OwnTrouble;
  readonly #metrics = createMetrics('up');
  readonly #trainerDone = deferred();
  /** One evaluation after the other; undefined before the first. */
  #evaluations: Promise<void> | undefined;
  /** Newest version between the first and the last whose evaluation was requested; 0 if there was none. */
  #evaluated = 0;
  #endedEarly = false;
  #addresses: ConfiguredAddresses = { kafkaBrokers: [], clickhouseUrl: '', apiUrl: '', registryUrl: '' };
  #apiPort = 0;
  #stopTidying: () => Promise<void> = () => Promise.resolve();

  constructor(options: FleetOptions) {
    this.#options = options;
    this.trainer = { done: this.#trainerDone.promise };
    this.#crew = createCrew(
      {
        ...options,
        env: (role) => this.#env(role),
        onStatus: (name, status) => {
          this.#onStatus(name, status);
        },
      },
      () => this.#supervisor,
    );
    this.#own = watchOwnTrouble({
      dataDir: options.config.dataDir,
      onStatus: (status, isNews) => {
        this.#crew.status('up', status);
        if (isNews) options.onChange('health', { service: 'up', ...status });
      },
      measure: () => measureDisk(options.config.dataDir, options.config.namespace),
      onMeasured: (use) => void this.#shareDisk(use),
    });
    this.#supervisor = createSupervisor({
      stopMs: STOP_MS,
      onEvent: (event) => {
        this.#crew.event(event);
        options.onChange(event.kind, { service: event.service, pid: event.pid, detail: event.detail });
        this.#publish();
      },
    });
    this.failed = this.#supervisor.failed;
  }

  addresses(): ConfiguredAddresses {
    return this.#addresses;
  }

  async startAll(): Promise<void> {
    const { progress, training } = this.#options;
    this.#publish();
    const log = this.#startLog();
    const store = this.#startStore();
    // `failed` reports the first failure; the other must not become an unhandled rejection.
    store.catch(() => undefined);
    await log;
    if (training !== undefined) this.#startLearning(training);
    progress.phase('waiting for the store');
    await store;
    await this.#startReading();
    this.#startTidying();
  }

  endedEarly(): boolean {
    return this.#endedEarly;
  }

  async evaluateAfter(): Promise<void> {
    // a policy that the built-in trainer does not train counts as the same before and after
    if (trainsPolicy(this.#options.config)) await this.#evaluateBefore();
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
    const { config, logger, progress, training } = this.#options;
    if (config.kafkaBrokers.length > 0) {
      this.#move({ kafkaBrokers: config.kafkaBrokers });
    } else {
      progress.phase('starting Kafka');
      const onAddress = (brokers: readonly string[]): void => {
        this.#move({ kafkaBrokers: brokers });
      };
      const onDownload = tellDownload(this.#options);
      await this.#supervisor.add(kafkaService({ config, logger, onAddress, onDownload })).started;
    }
    progress.phase(training === undefined ? 'preparing topics' : 'preparing topics and questions');
    const needs = { questions: training !== undefined, heldout: training?.evaluate === true };
    await prepareLog({ ...config, kafkaBrokers: this.#addresses.kafkaBrokers }, logger, needs);
  }

  async #startStore(): Promise<void> {
    const { config } = this.#options;
    if (config.clickhouseUrl === '') await this.#startOwnStore();
    else this.#move({ clickhouseUrl: config.clickhouseUrl });
    await prepareStore({ ...config, clickhouseUrl: this.#addresses.clickhouseUrl });
  }

  async #startOwnStore(): Promise<void> {
    const { config } = this.#options;
    // The store reads the password from its file, so that it is in no environment.
    ensureStorePassword(config.dataDir, config.clickhousePassword);
    const port = config.storePort === 0 ? await rememberedPort(config.dataDir, 'store') : config.storePort;
    const url = `http://127.0.0.1:${port}`;
    const env = { ...storeThreads(config.storeSessions), TURNSTREAM_STORE_PORT: String(port) };
    const service = this.#crew.role({ role: 'store', name: 'store', tier: tiers.store, args: ['store'], onSuccess: 'restart' }, env);
    const launch = { start: () => service.start(), failure: () => service.failure() };
    const onSteady = (): void => {
      supervised.healthy();
    };
    const supervised = this.#supervisor.add(storeService({ url, ...launch, onSteady }));
    await supervised.started;
    this.#move({ clickhouseUrl: url });
  }

  #startLearning({ run, seed, steps, workers }: TrainingRun): void {
    const trainer = ['trainer', '--run', run, '--seed', String(seed), '--steps', String(steps)];
    const { done } = this.#crew.add({ role: 'trainer', name: 'trainer', tier: tiers.trainer, args: trainer, onSuccess: 'done' });
    void done.then(() => {
      this.#crew.finished('trainer');
      this.#trainerDone.resolve();
    });
    for (let number = 1; number <= workers; number += 1) {
      const name = `worker-${number}`;
      this.#crew.add({ role: 'worker', name, tier: tiers.worker, args: ['worker', '--run', run, '--name', name], onSuccess: 'restart' });
    }
  }

  async #startReading(): Promise<void> {
    const { config, apiPortFixed } = this.#options;
    this.#crew.add({ role: 'warehouse', name: 'warehouse', tier: tiers.warehouse, args: ['warehouse'], onSuccess: 'restart' });
    const role = this.#crew.role({ role: 'api', name: 'api', tier: tiers.api, args: ['api'], onSuccess: 'restart' });
    const onPort = (port: number, taken: number | undefined): void => {
      this.#apiPort = port;
      const apiUrl = apiUrlOf(config.apiHost, port);
      this.#move({ apiUrl, registryUrl: config.schemaRegistryUrl === '' ? `${apiUrl}/registry` : config.schemaRegistryUrl });
      if (taken !== undefined) this.#move({ apiPortTaken: taken });
      this.#options.onChange('listening', { service: 'api', url: apiUrl, ...(taken === undefined ? {} : { port_taken: taken }) });
    };
    await this.#crew.supervise(apiService({ config, role, fixed: apiPortFixed, onPort })).started;
  }

  /** Does nothing for a configured Kafka: its owner decides what it keeps. */
  #startTidying(): void {
    const { config, training, logger, onChange } = this.#options;
    if (config.kafkaBrokers.length > 0) return;
    this.#stopTidying = startTidying({
      ...{ run: training?.run ?? '', logger },
      config: () => ({ ...config, kafkaBrokers: this.#addresses.kafkaBrokers, clickhouseUrl: this.#addresses.clickhouseUrl }),
      onCut: ({ released }) => {
        onChange('log_cut', { released });
      },
    });
  }

  /** Once, and not before the first step: the workers have enough to do until then. */
  #evaluateBefore(): Promise<void> {
    return (this.#evaluations ??= this.#addEvaluator('evaluator-before', ['--policy', '0']));
  }

  /** Every `evalEvery` steps. A continued run evaluates the last such version again, because its evaluation may have been stopped. */
  #evaluateBetween(step: number): void {
    const { config, training } = this.#options;
    const before = this.#evaluateBefore();
    const version = config.evalEvery === 0 ? 0 : step - (step % config.evalEvery);
    if (version <= this.#evaluated || version === training?.steps) return;
    this.#evaluated = version;
    this.#evaluations = before.then(() => this.#addEvaluator('evaluator-between', ['--policy', String(version)]));
  }

  #addEvaluator(name: string, args: readonly string[]): Promise<void> {
    const all = ['evaluate', '--run', this.#options.training?.run ?? '', '--name', name, ...args];
    const { done } = this.#crew.add({ role: 'evaluator', name, tier: tiers.evaluator, args: all, onSuccess: 'done' });
    return done.then(() => {
      this.#crew.finished(name);
    });
  }

  #onStatus(name: string, status: RoleStatus): void {
    if (name === 'trainer' && status.figures['ended_early'] === 1) this.#endedEarly = true;
    const step = status.figures['step'] ?? 0;
    if (this.#options.training?.evaluate === true && step >= 1 && name === 'trainer') this.#evaluateBetween(step);
  }

  async #shareDisk({ free_bytes: free, parts }: DiskUse): Promise<void> {
    this.#metrics.set('disk_free_bytes', {}, free);
    for (const { part, bytes } of parts) this.#metrics.set('disk_used_bytes', { part }, bytes);
    this.#crew.passMetrics({ type: 'metrics', role: 'up', metrics: await this.#metrics.snapshot() });
  }

  #env(role: RoleName): ProcessEnv {
    const { kafkaBrokers, clickhouseUrl } = this.#addresses;
    const port = this.#apiPort === 0 ? {} : { apiPort: this.#apiPort };
    return roleEnv(role, { ...this.#options.config, kafkaBrokers, clickhouseUrl, ...port, healthPort: 0 }, process.env);
  }

  /** Publishes a new address for other programs, and restarts the roles that were started with an old address of Kafka. */
  #move(change: Partial<ConfiguredAddresses>): void {
    const before = this.#addresses;
    this.#addresses = { ...before, ...change };
    this.#options.progress.addresses(this.#addresses);
    if (before.kafkaBrokers.length > 0 && before.kafkaBrokers.join() !== this.#addresses.kafkaBrokers.join()) this.#crew.bounce();
    this.#publish();
  }

  #publish(): void {
    const processes = this.#supervisor.all().flatMap((one) => {
      const pid = one.pid();
      return pid === undefined ? [] : [[one.name, pid] as const];
    });
    const run = this.#options.training?.run ?? '';
    this.#own.publish({ ...this.#addresses, run, startedAt: this.#startedAt, processes: Object.fromEntries(processes) });
  }
}
