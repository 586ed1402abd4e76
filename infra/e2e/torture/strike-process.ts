// Faults of processes: kills, freezes and cut connections.
import type { ChaosProxy } from './chaos-proxy.ts';
import type { ScheduledFault, FaultOf, FaultTarget } from './schedule.ts';
import type { Done } from './done.ts';
import type { TortureWorld } from './world.ts';
import { pause } from '../../lifecycle/waiting.ts';

export async function hit(world: TortureWorld, fault: FaultOf<'kill' | 'freeze'>): Promise<Done> {
  const victim = await victimOf(world, fault);
  signal(victim.pid, fault.kind === 'kill' ? 'SIGKILL' : 'SIGSTOP');
  if (fault.kind === 'freeze') {
    await pause(fault.forMs);
    signal(victim.pid, 'SIGCONT');
  }
  return victim;
}

interface StruckProcess {
  readonly pid: number;
  readonly detail?: string;
}

/** Waits while the target is restarting. */
async function victimOf(world: TortureWorld, { target, draw }: Pick<ScheduledFault, 'target' | 'draw'>): Promise<StruckProcess> {
  if (target !== 'broker') return { pid: (await processesOf(world, target))[0] ?? 0 };
  for (;;) {
    const chosen = await world.brokers.choose(draw);
    if (chosen !== undefined) return { pid: chosen.pid, ...detailOf(chosen) };
    await lookAgain(world);
  }
}

const detailOf = ({ id, leads }: { readonly id: number; readonly leads: string }): Pick<Done, 'detail'> =>
  leads === '' ? {} : { detail: `${id}, leader of ${leads}` };

/** The live processes of a target. Waits while it is restarting. */
export async function processesOf(world: TortureWorld, target: Exclude<FaultTarget, 'broker'>): Promise<readonly number[]> {
  for (;;) {
    const pids = world.pidsOf(target);
    if (pids.length > 0 && pids.every((pid) => signal(pid, 0))) return pids;
    await lookAgain(world);
  }
}

async function lookAgain(world: TortureWorld): Promise<void> {
  if (world.ended() !== undefined) throw new Error(`turnstream up ended with ${world.ended() ?? ''}`);
  await pause(100);
}

/** Suspends processes, runs `work`, and kills them. Their supervisor does not restart them while they are suspended. */
export async function whileStopped<T>(pids: readonly number[], work: () => Promise<T>): Promise<T> {
  for (const pid of pids) signal(pid, 'SIGSTOP');
  try {
    return await work();
  } finally {
    for (const pid of pids) signal(pid, 'SIGKILL');
  }
}

/** False when the process no longer exists. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

export async function cutLinks(world: TortureWorld, fault: FaultOf<'cut'>): Promise<Done> {
  const { proxies, whose, ...done } = await linksOf(world, fault);
  for (const proxy of proxies) proxy.set(fault.mode, whose);
  await pause(fault.forMs);
  for (const proxy of proxies) proxy.set('pass', 'everyone');
  return done;
}

interface Links extends Pick<Done, 'detail'> {
  readonly proxies: readonly ChaosProxy[];
  readonly whose: string;
}

async function linksOf({ brokers, clickhouse }: TortureWorld, { target, draw }: FaultOf<'cut'>): Promise<Links> {
  if (target === 'store') return { proxies: [clickhouse], whose: 'everyone' };
  if (target !== 'broker') return { proxies: [...brokers.proxies, clickhouse], whose: target };
  const chosen = await brokers.choose(draw);
  if (chosen === undefined || chosen.leads === '') return { proxies: brokers.proxies, whose: 'everyone' };
  return { proxies: [chosen.proxy], whose: 'everyone', ...detailOf(chosen) };
}
