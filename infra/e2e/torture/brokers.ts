// The brokers of a torture test, each behind its own proxy, restarted when they die.
import { join } from 'node:path';
import type { Logger } from '../../../streams/core/ports.ts';
import { freePort } from '../../app/open/local-ports.ts';
import { leadersOf, openLocalCluster } from '../../testing/local-cluster.ts';
import { startLocalKafka, type LocalKafka } from '../../kafka/broker/local.ts';
import { startChaosProxy, type ChaosProxy } from './chaos-proxy.ts';

export interface BrokersOptions {
  readonly dir: string;
  readonly count: number;
  readonly libsDir: string;
  readonly logger: Logger;
  /** Topics whose leaders are attacked, by full name. */
  readonly topics: readonly string[];
}

/** A broker to attack, and why. */
interface StruckBroker {
  readonly id: number;
  readonly pid: number;
  readonly proxy: ChaosProxy;
  /** A partition that it leads; empty when there is only one broker or no leader is known. */
  readonly leads: string;
}

export interface Brokers {
  /** Direct addresses, without the proxies. */
  readonly addresses: () => readonly string[];
  /** Addresses of the proxies. */
  readonly proxied: readonly string[];
  readonly proxies: readonly ChaosProxy[];
  /** The leader of a partition, or any broker while no leader is known, chosen by `draw` in [0, 1); undefined for an unknown node. */
  choose(draw: number): Promise<StruckBroker | undefined>;
  /** Data directory of each broker. */
  readonly dataDirs: readonly string[];
  /** Kills all brokers, runs `work` while they are down, and resolves when all are back. */
  whileDown<T>(work: () => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

const ATTEMPTS = 10;

interface KeptBroker {
  readonly id: number;
  readonly current: () => LocalKafka;
  /** Kills it and restarts it only once it is released. */
  hold(): Promise<{ readonly release: () => void; readonly back: () => Promise<void> }>;
  stop(): Promise<void>;
}

export async function startBrokers(options: BrokersOptions): Promise<Brokers> {
  const fronts: { listen: number; proxy: ChaosProxy }[] = [];
  for (let i = 0; i < options.count; i += 1) {
    const listen = await freePort();
    fronts.push({ listen, proxy: await startChaosProxy({ port: 0, target: listen }) });
  }
  const kept = options.count === 1 ? await startOne(options, fronts) : await startCluster(options, fronts);
  const addresses = (): readonly string[] => kept.flatMap((broker) => broker.current().brokers);
  return {
    addresses,
    proxied: fronts.map(({ proxy }) => `127.0.0.1:${proxy.port}`),
    proxies: fronts.map(({ proxy }) => proxy),
    async choose(draw) {
      const leaders = options.count === 1 ? [] : await leadersOf(addresses(), options.topics).catch(() => []);
      const leader = leaders[Math.floor(draw * leaders.length)];
      const id = leader?.node ?? 1 + Math.floor(draw * options.count);
      const [broker, front] = [kept.find((one) => one.id === id), fronts[id - 1]];
      if (broker === undefined || front === undefined) return undefined;
      return {
        id,
        pid: broker.current().pid,
        proxy: front.proxy,
        leads: leader === undefined ? '' : `${leader.topic}/${leader.partition}`,
      };
    },
    dataDirs: kept.map(({ id }) => dataDirOf(options, id)),
    async whileDown(work) {
      const held = await Promise.all(kept.map((broker) => broker.hold()));
      try {
        return await work();
      } finally {
        for (const { release } of held) release();
        await Promise.all(held.map(({ back }) => back()));
      }
    },
    async stop() {
      await Promise.all(kept.map((broker) => broker.stop()));
      await Promise.all(fronts.map(({ proxy }) => proxy.close()));
    },
  };
}

const dataDirOf = ({ dir, count }: BrokersOptions, id: number): string =>
  join(dir, ...(count === 1 ? ['broker'] : ['brokers', `node-${id}`]), 'kafka', 'data');

type Fronts = readonly { readonly listen: number; readonly proxy: ChaosProxy }[];

const frontOf = ({ listen, proxy }: Fronts[number]) => ({ listen, advertise: proxy.port });

async function startOne({ dir, libsDir, logger }: BrokersOptions, [front]: Fronts): Promise<readonly KeptBroker[]> {
  const start = (): Promise<LocalKafka> =>
    startLocalKafka({ dataDir: join(dir, 'broker'), libsDir, logger, ...(front === undefined ? {} : { front: frontOf(front) }) });
  return [keep(1, await persistently(start, () => false), start)];
}

async function startCluster({ dir, count, libsDir, logger }: BrokersOptions, fronts: Fronts): Promise<readonly KeptBroker[]> {
  const cluster = await openLocalCluster({ dataDir: join(dir, 'brokers'), nodes: count, libsDir, logger, fronts: fronts.map(frontOf) });
  const nodes = await persistently(
    () => cluster.startAll(),
    () => false,
  );
  return nodes.map((node, i) => keep(i + 1, node, () => cluster.start(i + 1)));
}

/** Retries, because a broker may exceed its start timeout on a busy machine. */
async function persistently<T>(start: () => Promise<T>, given: () => boolean): Promise<T> {
  for (let left = ATTEMPTS; ; left -= 1) {
    try {
      return await start();
    } catch (error) {
      if (given() || left <= 1) throw error;
    }
  }
}

/** Restarts a broker whenever it dies. */
function keep(id: number, first: LocalKafka, start: () => Promise<LocalKafka>): KeptBroker {
  let closing = false;
  let current = first;
  let released = Promise.resolve();
  let back = Promise.resolve();
  const again = async (): Promise<void> => {
    await released;
    if (closing) return;
    current = await persistently(start, () => closing);
    watch(current);
  };
  const watch = (broker: LocalKafka): void => {
    void broker.exited.then(() => (closing ? undefined : (back = again())));
  };
  watch(current);
  return {
    id,
    current: () => current,
    async hold() {
      await back;
      let release = (): void => undefined;
      released = new Promise((resolve) => (release = resolve));
      current.kill();
      await current.exited;
      return { release, back: () => back };
    },
    async stop() {
      closing = true;
      await current.stop();
    },
  };
}
