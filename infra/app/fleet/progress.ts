// What a running `up` looks like, gathered from the reports of its services: plain data for the terminal and the JSON lines.
import type { RoleStatus } from '../../../streams/core/telemetry.ts';
import type { ServiceState } from '../../telemetry/health.ts';
import type { SupervisorEvent } from './service.ts';
import type { Addresses } from '../open/services-file.ts';

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
  /** What happens before and after training, in words; empty while it trains. */
  readonly phase: string;
  readonly step: number;
  /** 0 = no end. */
  readonly steps: number;
  /** Batches that were collected, of a run that makes no steps; undefined for one that does. */
  readonly batches: number | undefined;
  readonly elapsedMs: number;
  /** How long the rest of the steps takes at the pace so far; undefined without an end, and before there is a pace. */
  readonly remainingMs: number | undefined;
  readonly rewardMean: number;
  readonly stalenessMean: number;
  readonly stalenessMax: number;
  readonly turnsPerSecond: number;
  readonly lag: number;
  /** Oldest and newest policy version among the workers; undefined while none has one. */
  readonly versions: readonly [number, number] | undefined;
  readonly services: readonly ServiceView[];
  readonly addresses: Addresses | undefined;
}

export interface Progress {
  status(service: string, status: RoleStatus): void;
  event(event: SupervisorEvent): void;
  phase(text: string): void;
  addresses(addresses: Addresses): void;
  /** The service ended because its work is done. */
  finished(service: string): void;
  snapshot(): Snapshot;
}

interface Mutable {
  state: ServiceView['state'];
  detail: string;
  pid: number | undefined;
  restarts: number;
  figures: Readonly<Record<string, number>>;
}

const stateOfEvent = { started: 'live', exited: 'restarting', restarting: 'restarting', stopped: 'stopped', killed: 'stopped' } as const;

export interface ProgressOptions {
  readonly run: string;
  /** How many were asked for; 0 = none. */
  readonly steps: number;
  /** Monotonic. */
  readonly nowMs: () => number;
}

/** Starts with nothing known. */
export function createProgress(options: ProgressOptions): Progress {
  const beganMs = options.nowMs();
  const pace = createPace(options);
  const services = new Map<string, Mutable>();
  let phase = 'starting';
  let addresses: Addresses | undefined;
  const use = (name: string): Mutable => {
    const known = services.get(name) ?? { state: 'starting', detail: '', pid: undefined, restarts: 0, figures: {} };
    services.set(name, known);
    return known;
  };
  return {
    status(name, status) {
      Object.assign(use(name), { state: status.state, detail: status.detail, figures: status.figures });
      if (name === 'trainer') pace.at(status.figures['batches'] ?? status.figures['step']);
    },
    event({ kind, service, pid, detail }) {
      const known = use(service);
      if (kind === 'restarting') known.restarts += 1;
      const isInfrastructure = service === 'kafka' || service === 'store';
      const state = kind === 'started' && !isInfrastructure ? 'starting' : stateOfEvent[kind];
      Object.assign(known, { state, detail, pid });
    },
    phase(text) {
      phase = text;
    },
    addresses(found) {
      addresses = found;
    },
    finished(name) {
      Object.assign(use(name), { state: 'finished', detail: '', pid: undefined });
    },
    snapshot() {
      const figures = figuresOf(services);
      // a run that goes on has the plan that its ledger says
      const steps = options.steps > 0 ? options.steps : (services.get('trainer')?.figures['steps'] ?? 0);
      return {
        ...figures,
        ...{ run: options.run, steps, phase, services: viewsOf(services), addresses },
        elapsedMs: options.nowMs() - beganMs,
        remainingMs: pace.remainingMs(steps),
      };
    },
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

/** How fast steps are made: from the first report on, which may be of a run that made some before. */
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
