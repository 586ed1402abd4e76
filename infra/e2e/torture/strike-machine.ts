// Faults of the machine: a dead engine, a full disk, and a clock that jumps.
import type { FaultOf } from './schedule.ts';
import type { Done } from './done.ts';
import { processesOf } from './strike-process.ts';
import type { TortureWorld } from './world.ts';
import { pause } from '../../lifecycle/waiting.ts';

/** Nested so deeply that the engine exhausts its stack and stops responding. */
const BOMB = `select length(JSONMergePatch(concat(repeat('{"a":',200000),'1',repeat('}',200000)),'{}'))`;
const ANSWER_MS = 5_000;

/** The store's response to a statement: its beginning, or why there is none. */
async function ask({ store: { url, user, password } }: TortureWorld, statement: string): Promise<string> {
  const headers = { 'x-clickhouse-user': user, 'x-clickhouse-key': password };
  try {
    const answer = await fetch(url, { method: 'POST', headers, body: statement, signal: AbortSignal.timeout(ANSWER_MS) });
    return `${answer.status} ${(await answer.text()).slice(0, 120).trim()}`;
  } catch (error) {
    return error instanceof Error ? `no answer: ${error.name}` : 'no answer';
  }
}

/** Sends a statement that crashes the engine, followed by a simple one. */
export async function endEngine(world: TortureWorld): Promise<Done> {
  const [pid] = await processesOf(world, 'store');
  const bomb = await ask(world, BOMB);
  return { pid, detail: `the statement: ${bomb}; the next one: ${await ask(world, 'select 1')}` };
}

const REFILL_MS = 250;

/** Fills the disk, repeatedly, so that space that programs free meanwhile is filled as well. */
export async function fillDisk(world: TortureWorld, fault: FaultOf<'disk'>): Promise<Done> {
  const disk = world.diskOf(fault.target);
  if (disk === undefined) throw new Error(`the ${fault.target} has no small disk`);
  const freeMb = Math.round((await disk.freeBytes()) / 2 ** 20);
  const until = Date.now() + fault.forMs;
  while (Date.now() < until) {
    await disk.fill();
    await pause(REFILL_MS);
  }
  await disk.free();
  return { detail: `${freeMb} MiB were free` };
}

export async function jumpClock(world: TortureWorld, fault: FaultOf<'clock'>): Promise<Done> {
  world.shiftClock(fault.target, fault.byMs);
  await pause(fault.forMs);
  world.shiftClock(fault.target, 0);
  return {};
}
