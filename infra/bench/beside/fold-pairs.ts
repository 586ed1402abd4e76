// The fold of two revisions in pairs. Each has a topic that its own code wrote, and a reader process of either revision takes only some
// seconds, so the two readers of a pair run under the same conditions. On a machine whose speed changes from minute to minute, ratios of
// pairs differ much less than those of whole benches.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { FoldJob, FoldMeasure } from '../fold-job.ts';
import type { BenchComparison } from './compare.ts';
import { median } from '../statistics.ts';

export interface FoldPairsOptions {
  /** Roots of the two built revisions. */
  readonly older: string;
  readonly newer: string;
  readonly rounds: number;
  /** As of the fold bench: `--records N --heavy-records N`. */
  readonly flags: string;
  readonly say: (text: string) => void;
}

interface ServedTopic {
  readonly root: string;
  readonly job: FoldJob;
  end(): Promise<void>;
}

/** Records per second of a reader of each revision, in the same round. */
interface FoldPair {
  readonly older: number;
  readonly newer: number;
}

export async function foldPairs(options: FoldPairsOptions): Promise<readonly BenchComparison[]> {
  const { values } = parseArgs({
    args: options.flags.split(' ').filter((word) => word !== ''),
    options: { records: { type: 'string', default: '1000000' }, 'heavy-records': { type: 'string', default: '500000' } },
  });
  const light = await pairsOf(options, 300, Number(values.records));
  return [light, await pairsOf(options, 2_000, Number(values['heavy-records']))];
}

async function pairsOf(options: FoldPairsOptions, turnBytes: number, records: number): Promise<BenchComparison> {
  const { say } = options;
  const served: ServedTopic[] = [];
  try {
    for (const root of [options.older, options.newer]) {
      say(`writing ${records} records with turns of ${turnBytes} bytes, ${root === options.older ? 'old' : 'new'}`);
      served.push(await serve(options.newer, root, [turnBytes, records]));
    }
    const [older, newer] = served as [ServedTopic, ServedTopic];
    await rateOf(older); // the pages of the topics and the programs are in memory afterwards
    await rateOf(newer);
    const pairs: FoldPair[] = [];
    for (let round = 1; round <= options.rounds; round += 1) {
      const pair = await pairOf(older, newer, round % 2 === 1);
      say(`${turnBytes} B round ${round}: old ${Math.round(pair.older)}/s, new ${Math.round(pair.newer)}/s`);
      pairs.push(pair);
    }
    return comparisonOf(`fold, ${turnBytes === 300 ? '300' : '2,000'} B, records/s`, pairs);
  } finally {
    for (const topic of served) await topic.end();
  }
}

async function pairOf(older: ServedTopic, newer: ServedTopic, olderFirst: boolean): Promise<FoldPair> {
  if (olderFirst) return { older: await rateOf(older), newer: await rateOf(newer) };
  const first = await rateOf(newer);
  return { older: await rateOf(older), newer: first };
}

/** `worse` is by the median of the ratios within a round. */
function comparisonOf(what: string, pairs: readonly FoldPair[]): BenchComparison {
  return {
    what,
    old: pairs.map(({ older }) => older),
    new: pairs.map(({ newer }) => newer),
    worse: 1 - median(pairs.map(({ older, newer }) => newer / older)),
  };
}

async function serve(built: string, root: string, size: readonly [turnBytes: number, records: number]): Promise<ServedTopic> {
  const file = join(built, 'dist', 'infra', 'bench', 'beside', 'fold-served.process.js');
  const child = start(root, file, [root, ...size.map(String)]);
  const job = await answerOf<FoldJob>(child, `the topic of ${root}`);
  return {
    root,
    job,
    async end() {
      child.disconnect();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

/** Records per second of one reader process. */
async function rateOf({ root, job }: ServedTopic): Promise<number> {
  const child = start(root, join(root, 'dist', 'infra', 'bench', 'fold-trainer.process.js'), [JSON.stringify(job)]);
  const { records, seconds } = await answerOf<FoldMeasure>(child, `the reader of ${root}`);
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return records / seconds;
}

const start = (cwd: string, file: string, args: readonly string[]): ChildProcess =>
  fork(file, args, { cwd, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });

async function answerOf<T>(child: ChildProcess, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => {
      resolve(message as T);
    });
    child.once('exit', (code) => {
      reject(new Error(`${what} ended with code ${code ?? 'none'} before it answered`));
    });
  });
}
