import { portIsFree } from '../../lifecycle/net.ts';
import { pause } from '../../lifecycle/waiting.ts';
import type { LocalPorts } from './local-files.ts';

// Below the ephemeral port range (from 32768 on Linux, from 49152 elsewhere), so that a client that is waiting for a restarted broker never
// occupies its port.
const LOWEST = 20_000;
const HIGHEST = 32_000;

const isFree = (port: number): Promise<boolean> => portIsFree('127.0.0.1', port);

async function freePort(except: readonly number[]): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (!except.includes(port) && (await isFree(port))) return port;
  }
}

async function soonFree(port: number): Promise<boolean> {
  for (let attempt = 0; attempt < 4; attempt += 1) {
    if (await isFree(port)) return true;
    await pause(150);
  }
  return false;
}

/** Distinct ports for several nodes. Exported for clusters of several nodes, which only tests start. */
export async function choosePortsOf(nodes: number): Promise<readonly LocalPorts[]> {
  const taken: number[] = [];
  for (let i = 0; i < 2 * nodes; i += 1) taken.push(await freePort(taken));
  return Array.from({ length: nodes }, (_, i) => ({ broker: taken[2 * i] ?? 0, controller: taken[2 * i + 1] ?? 0 }));
}

/** The remembered ports; a port that another program has is replaced. */
export async function choosePorts(remembered: LocalPorts | undefined): Promise<LocalPorts> {
  const keep = async (port: number | undefined, except: readonly number[]): Promise<number> =>
    port !== undefined && !except.includes(port) && (await soonFree(port)) ? port : freePort(except);
  const broker = await keep(remembered?.broker, []);
  return { broker, controller: await keep(remembered?.controller, [broker]) };
}
