// Records which runs of this data directory are over, in `<dataDir>/finished/<namespace>.<run>.json`, so that a request for a finished run
// fails before Kafka starts. A note belongs to one log, identified by the id of its cluster, and is ignored for any other.
import { readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { EndNotes } from '../../../../consumers/trainer/deps.ts';
import type { Config } from '../../../config/descriptors.ts';
import { localPaths } from '../../../kafka/broker/local-files.ts';
import { replaceFile } from '../../../lifecycle/replace-file.ts';

type RunEndsLocation = Pick<Config, 'dataDir' | 'namespace'>;

const pathOf = ({ dataDir, namespace }: RunEndsLocation, run: string): string =>
  resolve(dataDir, 'finished', `${encodeURIComponent(`${namespace}.${run}`)}.json`);

/** Notes of one run, in the log with the id `clusterId`. */
export function fileEndNotes(place: RunEndsLocation, run: string, clusterId: () => Promise<string>): EndNotes {
  const path = pathOf(place, run);
  return {
    async write(steps) {
      await mkdir(dirname(path), { recursive: true });
      await replaceFile(path, `${JSON.stringify({ run, steps, cluster: await clusterId() })}\n`);
    },
    remove: () => rm(path, { force: true }),
  };
}

/** Steps of a finished run of the local Kafka; undefined when the run continues or its state is unknown. */
export function finishedSteps(config: Pick<Config, 'dataDir' | 'namespace' | 'kafkaBrokers'>, run: string): number | undefined {
  if (config.kafkaBrokers.length > 0) return undefined;
  try {
    const { steps, cluster } = JSON.parse(readFileSync(pathOf(config, run), 'utf8')) as { steps?: unknown; cluster?: unknown };
    return typeof steps === 'number' && cluster === localClusterId(config.dataDir) ? steps : undefined;
  } catch {
    return undefined;
  }
}

function localClusterId(dataDir: string): string | undefined {
  const text = readFileSync(join(localPaths(resolve(dataDir)).data, 'meta.properties'), 'utf8');
  return /^cluster\.id=(\S+)$/m.exec(text)?.[1];
}
