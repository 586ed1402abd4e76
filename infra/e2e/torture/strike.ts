// Carries out one fault and watches until the run is over it.
import type { Done } from './done.ts';
import type { Fault } from './schedule.ts';
import { signOf, type Mark, type Signs } from './signs.ts';
import { cutLinks, hit } from './strike-process.ts';
import { cutNewest, deleteTasks, forgetOffsets } from './strike-log.ts';
import { endEngine, fillDisk, jumpClock } from './strike-machine.ts';
import type { World } from './world.ts';

/** What happened at one fault. */
export interface Struck extends Done {
  readonly fault: Fault;
  /** Milliseconds after the start of the torture. */
  readonly atMs: number;
  /** When the fault was over, and only the run had to get over it. */
  readonly untilMs: number;
  /** What shows that the target is back. */
  readonly sign: string;
  /** Milliseconds from the end of the fault until that was seen. */
  readonly backMs: number | undefined;
  readonly nextStepMs: number | undefined;
}

export const isSurvived = ({ backMs, nextStepMs }: Struck): boolean => backMs !== undefined && nextStepMs !== undefined;

/** A fault in a few words, without its duration. */
export function kindOf(fault: Fault): string {
  if (fault.kind === 'cut') return `cut ${fault.mode}`;
  return names[fault.kind];
}

const names: Readonly<Record<Exclude<Fault['kind'], 'cut'>, string>> = {
  kill: 'kill',
  freeze: 'freeze',
  forget: 'offsets deleted',
  tail: 'tail cut',
  retention: 'records deleted',
  engine: 'dead engine',
  disk: 'full disk',
  clock: 'clock jump',
};

const whatOf = (fault: Fault): string => {
  if (fault.kind === 'tail') return fault.topic;
  return fault.kind === 'clock' ? `${fault.target} ${fault.byMs > 0 ? '+' : '-'}1 h` : fault.target;
};

export const nameOf = (fault: Fault): string =>
  [kindOf(fault), whatOf(fault), ...(fault.forMs > 0 ? [`${(fault.forMs / 1000).toFixed(1)} s`] : [])].join(', ');

export interface StrikeContext {
  readonly world: World;
  readonly signs: Signs;
  readonly beganMs: number;
  readonly timeoutMs: number;
}

/** Carries out a fault; `over` resolves when the run was seen to be over it, or was not in time. */
export async function strike(fault: Fault, context: StrikeContext): Promise<{ readonly over: Promise<Struck> }> {
  const { world, signs, beganMs, timeoutMs } = context;
  const before = await signs.mark(timeoutMs);
  const atMs = Date.now() - beganMs;
  const done = await carryOut(fault, world);
  const untilMs = Date.now() - beganMs;
  // A killed broker cannot be asked; after anything else only what comes after the end of the fault counts.
  const from: Mark = fault.kind === 'kill' && fault.target === 'broker' ? before : await signs.mark(timeoutMs);
  // what has cost the sink its place is over when the sink has found it again
  const seen = fault.kind === 'tail' ? 'warehouse' : fault.target;
  const watch = async (): Promise<Struck> => {
    const back = await signs.back(seen, from, { timeoutMs, ended: () => world.ended() !== undefined });
    return { fault, atMs, untilMs, ...done, sign: signOf[seen], ...back };
  };
  return { over: watch() };
}

function carryOut(fault: Fault, world: World): Promise<Done> {
  switch (fault.kind) {
    case 'kill':
    case 'freeze':
      return hit(world, fault);
    case 'cut':
      return cutLinks(world, fault);
    case 'forget':
      return forgetOffsets(world, fault);
    case 'tail':
      return cutNewest(world, fault);
    case 'retention':
      return deleteTasks(world, fault);
    case 'engine':
      return endEngine(world);
    case 'disk':
      return fillDisk(world, fault);
    case 'clock':
      return jumpClock(world, fault);
  }
}
