// Writes the topic of the fold bench with the code of one revision, and serves it until the parent process disconnects:
// `node fold-served.process.js <root of the revision> <turn bytes> <records>`. Sends the job of fold-trainer.process over the IPC channel.
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { prepareFoldTopic as Prepare } from '../fold-topic.ts';
import type { withSite as WithSite } from '../local-bench.ts';

const [root = '', turnBytes = '', records = ''] = process.argv.slice(2);
const built = async (file: string): Promise<unknown> => import(pathToFileURL(join(root, 'dist', 'infra', 'bench', file)).href);
const { withSite } = (await built('local-bench.js')) as { readonly withSite: typeof WithSite };
const { prepareFoldTopic } = (await built('fold-topic.js')) as { readonly prepareFoldTopic: typeof Prepare };

await withSite(async (site) => {
  const topic = await prepareFoldTopic(site, { turnBytes: Number(turnBytes), records: Number(records) });
  process.send?.({ mode: 'fold', brokers: site.brokers, topic });
  if (process.connected) await once(process, 'disconnect');
});
