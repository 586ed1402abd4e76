// Keeps services running. Invariants: at most one process of a service at a time; a service that dies unexpectedly is restarted after a
// backoff that doubles from 0.2 s to 5 s and resets once the service is healthy; services stop tier by tier, the highest first, each with a
// deadline after which it is killed by its pid; nothing starts after stopAll. The supervisor keeps its state in memory only.
import { deferred } from '../../../streams/core/waiting.ts';
import { ServiceLives, type LivesOptions, type Service } from './service.ts';

export interface Supervised {
  readonly name: string;
  /** Resolves with the first successful launch; rejects with the error that prevents it. */
  readonly started: Promise<void>;
  /** Settles when the service has ended by itself for good, or was stopped. */
  readonly done: Promise<void>;
  pid(): number | undefined;
  restarts(): number;
  /** Reports that the service is healthy, which resets its backoff. */
  healthy(): void;
  /** Kills its process; a new one is launched. */
  bounce(): void;
  stop(): Promise<void>;
}

export interface Supervisor {
  add(service: Service): Supervised;
  /** Rejects with the first error that a retry cannot fix; never resolves. */
  readonly failed: Promise<never>;
  all(): readonly Supervised[];
  stopAll(): Promise<void>;
  /** Sends SIGKILL to every process at once. */
  killAll(): void;
}

interface SupervisedService {
  readonly tier: number;
  readonly supervised: Supervised;
  kill(): void;
}

/** Creates an empty supervisor. */
export function createSupervisor(options: LivesOptions): Supervisor {
  const kept: SupervisedService[] = [];
  let ended = false;
  const failed = deferred<never>();
  return {
    failed: failed.promise,
    add(service) {
      const one = superviseOne(service, options, failed.reject);
      kept.push(one);
      if (ended) one.kill();
      return one.supervised;
    },
    all: () => kept.map(({ supervised }) => supervised),
    async stopAll() {
      ended = true;
      const tiers = [...new Set(kept.map(({ tier }) => tier))].sort((a, b) => b - a);
      for (const tier of tiers) await Promise.all(kept.filter((one) => one.tier === tier).map((one) => one.supervised.stop()));
    },
    killAll() {
      ended = true;
      for (const one of kept) one.kill();
    },
  };
}

function superviseOne(service: Service, options: LivesOptions, fail: (error: unknown) => void): SupervisedService {
  const lives = new ServiceLives(service, options);
  const started = deferred();
  const done = lives.run(started.resolve).catch((error: unknown) => {
    started.reject(error);
    fail(error);
  });
  let stopped: Promise<void> | undefined;
  const supervised: Supervised = {
    name: service.name,
    started: started.promise,
    done,
    pid: () => lives.pid,
    restarts: () => lives.restarts,
    healthy: () => {
      lives.healthy();
    },
    bounce: () => {
      lives.bounce();
    },
    stop: () => (stopped ??= lives.stop(done).finally(started.resolve)),
  };
  return {
    tier: service.tier,
    supervised,
    kill: () => {
      lives.kill();
    },
  };
}
