// Keeps services running. Invariants: at most one process of a service at a time; a service that dies unexpectedly is
// started again after a wait that doubles from 0.2 s to 5 s and starts small again once it was healthy; services are
// stopped tier by tier, the highest first, each with a deadline after which it is killed by its pid; after stopAll
// nothing is started any more. State is kept in this process only: what the services keep is theirs.
import { deferred } from '../../../streams/core/waiting.ts';
import { ServiceLives, type LivesOptions, type Service } from './service.ts';

export interface Supervised {
  readonly name: string;
  /** Settles with the first successful launch, or fails with what makes it impossible. */
  readonly started: Promise<void>;
  /** Settles when the service ended by itself and is not to be started again, or was stopped. */
  readonly done: Promise<void>;
  pid(): number | undefined;
  restarts(): number;
  /** The service is well: the next failure waits the shortest time again. */
  healthy(): void;
  /** Kills its process; the next one is launched. */
  bounce(): void;
  stop(): Promise<void>;
}

export interface Supervisor {
  add(service: Service): Supervised;
  /** Rejects with the first error that trying again cannot mend; never resolves. */
  readonly failed: Promise<never>;
  all(): readonly Supervised[];
  stopAll(): Promise<void>;
  /** SIGKILL to every process, at once. */
  killAll(): void;
}

interface Kept {
  readonly tier: number;
  readonly supervised: Supervised;
  kill(): void;
}

/** Makes an empty supervisor. */
export function createSupervisor(options: LivesOptions): Supervisor {
  const kept: Kept[] = [];
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

function superviseOne(service: Service, options: LivesOptions, fail: (error: unknown) => void): Kept {
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
