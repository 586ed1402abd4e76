// Compares how long trainers of two revisions take to restart, in pairs. The code of each revision writes a log once, and trainers are then
// started on it and killed: a round takes less than a minute, where a whole bench takes several. The snapshots cover their whole logs: the
// age of the snapshot that a killed trainer leaves depends on the moment, which would hide any other difference.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { resultOf, startBuilt } from './built-process.ts';
import type { BenchComparison } from './compare.ts';
import { pairOf, pairsCompared, type FigurePair, type PairOptions } from './pairs.ts';
import type { RestartJob } from './restart-once.process.ts';

interface KeptLog {
  readonly root: string;
  readonly trainer: RestartJob['trainer'];
  end(): Promise<void>;
}

/** `flags` are those of the restart bench: `--trajectories N --turns N --turn-bytes N`. */
export async function restartPairs(options: PairOptions): Promise<readonly BenchComparison[]> {
  const { say } = options;
  const logs: KeptLog[] = [];
  try {
    for (const root of [options.older, options.newer]) {
      say(`writing a log, ${root === options.older ? 'old' : 'new'}`);
      logs.push(await keepLog(root, options.flags));
    }
    const [older, newer] = logs as [KeptLog, KeptLog];
    const restart = async (snapshot: RestartJob['snapshot'], round: number): Promise<FigurePair> => {
      const pair = await pairOf(round, { older, newer }, (log) => secondsOf(options.newer, log, snapshot));
      say(`round ${round}, ${snapshot} a snapshot: old ${pair.older.toFixed(2)} s, new ${pair.newer.toFixed(2)} s`);
      return pair;
    };
    await restart('renew', 0); // the programs are in memory afterwards
    const [kept, deleted]: [FigurePair[], FigurePair[]] = [[], []];
    for (let round = 1; round <= options.rounds; round += 1) {
      kept.push(await restart('with', round));
      deleted.push(await restart('without', round));
    }
    return [pairsCompared('restart with a snapshot, s', 'lower', kept), pairsCompared('restart without a snapshot, s', 'lower', deleted)];
  } finally {
    for (const log of logs) await log.end();
  }
}

/** Writes the log of the restart bench, and keeps it until `end`. */
async function keepLog(root: string, flags: string): Promise<KeptLog> {
  const args = ['dist/infra/bench/main.js', 'restart', '--hold', '--minutes', '600', ...flags.split(' ').filter((word) => word !== '')];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  const lines = createInterface({ input: child.stderr });
  const line = await new Promise<string>((resolve, reject) => {
    lines.on('line', (text) => {
      process.stderr.write(`${text}\n`);
      if (text.includes('KAFKA_BROKERS=')) resolve(text);
    });
    child.once('exit', (code) => {
      reject(new Error(`the restart bench of ${root} ended with code ${code ?? 'none'} before its log was written`));
    });
  });
  // what it says when it is stopped is of no interest
  lines.removeAllListeners('line');
  return {
    root,
    trainer: trainerIn(line),
    async end() {
      child.kill('SIGINT');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

/** The settings and arguments in the command that the bench prints. */
function trainerIn(line: string): RestartJob['trainer'] {
  const settings = Object.fromEntries([...line.matchAll(/\b([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]));
  const { KAFKA_BROKERS: brokers = '', TURNSTREAM_DATA_DIR: dataDir = '', TURNSTREAM_NAMESPACE: namespace = '', ...others } = settings;
  const argument = (name: string): string => new RegExp(`--${name} (\\S+)`).exec(line)?.[1] ?? '';
  return { brokers: brokers.split(','), dataDir, namespace, run: argument('run'), dataset: argument('dataset'), settings: others };
}

async function secondsOf(built: string, { root, trainer }: KeptLog, snapshot: RestartJob['snapshot']): Promise<number> {
  const file = join(built, 'dist', 'infra', 'bench', 'beside', 'restart-once.process.js');
  const job: RestartJob = { trainer, snapshot };
  return resultOf(startBuilt(root, file, [root, JSON.stringify(job)]), `the trainer of ${root}`);
}
