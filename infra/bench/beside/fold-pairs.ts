// Measures the fold of two revisions in pairs. Each has a topic that its own code wrote, and a reader process of either takes only a few
// seconds, so the two readers of a pair run under the same conditions.
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { FoldJob, FoldMeasure } from '../fold-job.ts';
import { answerOf, resultOf, startBuilt } from './built-process.ts';
import type { BenchComparison } from './compare.ts';
import { pairOf, pairsCompared, type FigurePair, type PairOptions } from './pairs.ts';

interface ServedTopic {
  readonly root: string;
  readonly job: FoldJob;
  end(): Promise<void>;
}

/** `flags` are those of the fold bench: `--records N --heavy-records N`. */
export async function foldPairs(options: PairOptions): Promise<readonly BenchComparison[]> {
  const { values } = parseArgs({
    args: options.flags.split(' ').filter((word) => word !== ''),
    options: { records: { type: 'string', default: '1000000' }, 'heavy-records': { type: 'string', default: '500000' } },
  });
  const light = await foldPairsOf(options, 300, Number(values.records));
  return [light, await foldPairsOf(options, 2_000, Number(values['heavy-records']))];
}

async function foldPairsOf(options: PairOptions, turnBytes: number, records: number): Promise<BenchComparison> {
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
    const pairs: FigurePair[] = [];
    for (let round = 1; round <= options.rounds; round += 1) {
      const pair = await pairOf(round, { older, newer }, rateOf);
      say(`${turnBytes} B round ${round}: old ${Math.round(pair.older)}/s, new ${Math.round(pair.newer)}/s`);
      pairs.push(pair);
    }
    return pairsCompared(`fold, ${turnBytes === 300 ? '300' : '2,000'} B, records/s`, 'higher', pairs);
  } finally {
    for (const topic of served) await topic.end();
  }
}

async function serve(built: string, root: string, size: readonly [turnBytes: number, records: number]): Promise<ServedTopic> {
  const file = join(built, 'dist', 'infra', 'bench', 'beside', 'fold-served.process.js');
  const child = startBuilt(root, file, [root, ...size.map(String)]);
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
  const child = startBuilt(root, join(root, 'dist', 'infra', 'bench', 'fold-trainer.process.js'), [JSON.stringify(job)]);
  const { records, seconds } = await resultOf<FoldMeasure>(child, `the reader of ${root}`);
  return records / seconds;
}
