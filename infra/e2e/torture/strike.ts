// Injects one fault and waits until the run has recovered.
import type { Done } from './done.ts';
import type { ScheduledFault } from './schedule.ts';
import { signOf, type LogMark, type RecoverySigns } from './signs.ts';
import { cutLinks, hit } from './strike-process.ts';
import { cutNewest, deleteTasks, forgetOffsets } from './strike-log.ts';
import { endEngine, fillDisk, jumpClock } from './strike-machine.ts';
import type { TortureWorld } from './world.ts';

/** The record of one fault. */
export interface Struck extends Done {
  readonly fault: ScheduledFault;
  /** Milliseconds after the start of the torture test. */
  readonly atMs: number;
  /** End of the fault; from here on the run only has to recover. */
  readonly untilMs: number;
  /** The sign that the target has recovered. */
  readonly sign: string;
  /** Milliseconds from the end of the fault to that sign. */
  readonly backMs: number | undefined;
  readonly nextStepMs: number | undefined;
}

export const isSurvived = ({ backMs, nextStepMs }: Struck): boolean => backMs !== undefined && nextStepMs !== undefined;

/** A short description of a fault, without its duration. */
export function kindOf(fault: ScheduledFault): string {
  if (fault.kind === 'cut') return `cut ${fault.mode}`;
  return names[fault.kind];
}

const names: Readonly<Record<Exclude<ScheduledFault['kind'], 'cut'>, string>> = {
  kill: 'kill',
  freeze: 'freeze',
  forget: 'offsets deleted',
  tail: 'tail cut',
  retention: 'records deleted',
  engine: 'dead engine',
  disk: 'full disk',
  clock: 'clock jump',
};

const whatOf = (fault: ScheduledFault): string => {
  if (fault.kind === 'tail') return fault.topic;
  return fault.kind === 'clock' ? `${fault.target} ${fault.byMs > 0 ? '+' : '-'}1 h` : fault.target;
};

export const nameOf = (fault: ScheduledFault): string =>
  [kindOf(fault), whatOf(fault), ...(fault.forMs > 0 ? [`${(fault.forMs / 1000).toFixed(1)} s`] : [])].join(', ');

export interface StrikeContext {
  readonly world: TortureWorld;
  readonly signs: RecoverySigns;
  readonly beganMs: number;
  readonly timeoutMs: number;
}

/** Injects a fault; `over` resolves when the run has recovered, or when the time is up. */
export async function strike(fault: ScheduledFault, context: StrikeContext): Promise<{ readonly over: Promise<Struck> }> {
  const { world, signs, beganMs, timeoutMs } = context;
  const before = await signs.mark(timeoutMs);
  const atMs = Date.now() - beganMs;
  const done = await carryOut(fault, world);
  const untilMs = Date.now() - beganMs;
  // A killed broker cannot be queried; for any other fault, only progress after its end counts.
  const from: LogMark = fault.kind === 'kill' && fault.target === 'broker' ? before : await signs.mark(timeoutMs);
  // after a loss of the newest records, the sink is mended: its next stored rows show that it has recovered
  const seen = fault.kind === 'tail' ? 'warehouse' : fault.target;
  const watch = async (): Promise<Struck> => {
    const back = await signs.back(seen, from, { timeoutMs, ended: () => world.ended() !== undefined });
    return { fault, atMs, untilMs, ...done, sign: signOf[seen], ...back };
  };
  return { over: watch() };
}

function carryOut(fault: ScheduledFault, world: TortureWorld): Promise<Done> {
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
