// The state of a running `up`, folded from the reports of its services and the events of their supervisor: a snapshot for the terminal and
// the JSON lines, and the health that the API serves.
import type { RoleStatus } from '../../../streams/core/telemetry.ts';
import type { ServiceHealth, ServiceState } from '../../telemetry/health.ts';
import type { SupervisorEvent } from './service.ts';
import type { ConfiguredAddresses } from '../open/services-file.ts';

export interface ServiceView {
  readonly name: string;
  readonly state: ServiceState;
  readonly detail: string;
  readonly pid: number | undefined;
  readonly restarts: number;
}

export interface Snapshot {
  /** Empty when nothing is trained. */
  readonly run: string;
  /** What happens before and after training, in words; empty during training. */
  readonly phase: string;
  readonly step: number;
  /** 0 = unlimited. */
  readonly steps: number;
  /** Collected batches, for a run without training steps; undefined for a training run. */
  readonly batches: number | undefined;
  readonly elapsedMs: number;
  /** Estimated time for the remaining steps at the current pace; undefined without a limit, and before there is a pace. */
  readonly remainingMs: number | undefined;
  readonly rewardMean: number;
  readonly stalenessMean: number;
  readonly stalenessMax: number;
  readonly turnsPerSecond: number;
  readonly lag: number;
  /** Oldest and newest policy version among the workers; undefined while none has one. */
  readonly versions: readonly [number, number] | undefined;
  readonly services: readonly ServiceView[];
  readonly addresses: ConfiguredAddresses | undefined;
}

export interface FleetProgress {
  /** Returns whether anything other than numbers changed. */
  status(service: string, status: RoleStatus): boolean;
  event(event: SupervisorEvent): void;
  phase(text: string): void;
  addresses(addresses: ConfiguredAddresses): void;
  /** The service ended because its work is done. */
  finished(service: string): void;
  snapshot(): Snapshot;
  /** The health of every service, in the format of the API. */
  health(): readonly ServiceHealth[];
}

interface Mutable {
  state: ServiceView['state'];
  detail: string;
  pid: number | undefined;
  restarts: number;
  /** When it entered its current state, ms since the epoch. */
  sinceMs: number;
  figures: Readonly<Record<string, number>>;
}

/** Services that report nothing are live once they have started: their supervisor waits until they answer. */
const SILENT: ReadonlySet<string> = new Set(['kafka', 'store']);

const stateAfter = { exited: 'restarting', restarting: 'restarting', stopped: 'stopped', killed: 'stopped' } as const;

export interface ProgressOptions {
  readonly run: string;
  /** Requested number of steps; 0 = none. */
  readonly steps: number;
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Wall clock, ms since the epoch. */
  readonly dateMs: () => number;
}

/** Starts with an empty state. */
export function createProgress(options: ProgressOptions): FleetProgress {
  const beganMs = options.nowMs();
  const pace = createPace(options);
  const services = new Map<string, Mutable>();
  let phase = 'starting';
  let addresses: ConfiguredAddresses | undefined;
  const use = (name: string): Mutable => {
    const known = services.get(name) ?? {
      ...{ state: 'starting' as const, detail: '', pid: undefined, restarts: 0, sinceMs: options.dateMs(), figures: {} },
    };
    services.set(name, known);
    return known;
  };
  const enter = (name: string, state: ServiceState, detail: string): boolean => {
    const isNew = !services.has(name);
    const known = use(name);
    const changed = isNew || known.state !== state || known.detail !== detail;
    if (known.state !== state) known.sinceMs = options.dateMs();
    Object.assign(known, { state, detail });
    return changed;
  };
  return {
    status(name, { state, detail, figures }) {
      const changed = enter(name, state, detail);
      use(name).figures = figures;
      if (name === 'trainer') pace.at(figures['batches'] ?? figures['step']);
      return changed;
    },
    event({ kind, service, pid, detail }) {
      const known = use(service);
      known.pid = pid;
      if (kind === 'restarting') known.restarts += 1;
      // the reason for the exit is more useful than the time of the next start
      const reason = kind === 'restarting' && known.detail !== '' ? known.detail : detail;
      if (kind === 'started') enter(service, SILENT.has(service) ? 'live' : 'starting', '');
      else enter(service, stateAfter[kind], reason);
    },
    phase(text) {
      phase = text;
    },
    addresses(found) {
      addresses = found;
    },
    finished(name) {
      enter(name, 'finished', '');
      use(name).pid = undefined;
    },
    snapshot() {
      const figures = figuresOf(services);
      // a resumed run has the number of steps that its ledger records
      const steps = options.steps > 0 ? options.steps : (services.get('trainer')?.figures['steps'] ?? 0);
      return {
        ...figures,
        ...{ run: options.run, steps, phase, services: viewsOf(services), addresses },
        elapsedMs: options.nowMs() - beganMs,
        remainingMs: pace.remainingMs(steps),
      };
    },
    health: () => [...services].map(([name, { state, detail, restarts, sinceMs }]) => ({ name, state, detail, restarts, sinceMs })),
  };
}

const viewsOf = (services: ReadonlyMap<string, Mutable>): ServiceView[] =>
  [...services].map(([name, { state, detail, pid, restarts }]) => ({ name, state, detail, pid, restarts }));

function figuresOf(services: ReadonlyMap<string, Mutable>) {
  const workers = [...services].filter(([name]) => name.startsWith('worker')).map(([, { figures }]) => figures);
  const trainer = services.get('trainer')?.figures ?? {};
  const versions = workers.map((figures) => figures['policy_version'] ?? -1).filter((version) => version >= 0);
  return {
    step: trainer['step'] ?? 0,
    batches: trainer['batches'],
    rewardMean: trainer['reward_mean'] ?? Number.NaN,
    stalenessMean: trainer['staleness_mean'] ?? Number.NaN,
    stalenessMax: trainer['staleness_max'] ?? Number.NaN,
    turnsPerSecond: workers.reduce((sum, figures) => sum + (figures['turns_per_s'] ?? 0), 0),
    lag: services.get('warehouse')?.figures['lag'] ?? 0,
    versions: versions.length === 0 ? undefined : ([Math.min(...versions), Math.max(...versions)] as const),
  };
}

/** The pace of training since the first report, because a resumed run starts with the steps that it made earlier. */
function createPace({ nowMs }: Pick<ProgressOptions, 'nowMs'>) {
  let first: { readonly step: number; readonly atMs: number } | undefined;
  let last: { readonly step: number; readonly atMs: number } | undefined;
  return {
    at(step: number | undefined): void {
      if (step === undefined || step === last?.step) return;
      last = { step, atMs: nowMs() };
      first ??= last;
    },
    remainingMs(steps: number): number | undefined {
      if (first === undefined || last === undefined || last.step <= first.step || steps <= last.step) return undefined;
      const stepMs = (last.atMs - first.atMs) / (last.step - first.step);
      return Math.max(0, (steps - last.step) * stepMs - (nowMs() - last.atMs));
    },
  };
}
