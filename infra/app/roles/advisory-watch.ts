// Sends advisories of unfinished runs to a webhook: one message when an advisory begins, one when it ends. Sent messages are recorded in a
// file, so that a restart does not repeat them. A message is sent before the file is written: a crash in between may repeat it.
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { changesOf, type OpenAdvisory, type RunFindings } from '../../../consumers/api/watch/advisory-changes.ts';
import { messageOf } from '../../../streams/core/errors.ts';
import type { Clock, Logger } from '../../../streams/core/ports.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';
import { replaceFile } from '../../lifecycle/replace-file.ts';
import type { Webhook } from '../../web/webhook.ts';

export interface AdvisoryWatch {
  /** Advisories of the unfinished runs. */
  readonly look: () => Promise<readonly RunFindings[]>;
  readonly webhook: Webhook;
  /** Address of the dashboard, without a slash at the end. */
  readonly address: string;
  /** File that records the sent messages. */
  readonly path: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const LOOK_MS = 15_000;

/** Checks every 15 s until the signal aborts. Never rejects. */
export async function watchAdvisories(watch: AdvisoryWatch, signal: AbortSignal): Promise<void> {
  let open = await readTold(watch.path);
  for (;;) {
    await watch.clock.sleep(LOOK_MS, signal);
    if (signal.aborted) return;
    try {
      open = await lookOnce(watch, open, signal);
    } catch (error) {
      // the store is unavailable: the record stays as it is
      watch.logger.debug({ error: messageOf(error) }, 'the advisories could not be read');
    }
  }
}

async function lookOnce(watch: AdvisoryWatch, before: readonly OpenAdvisory[], signal: AbortSignal): Promise<readonly OpenAdvisory[]> {
  const { webhook, address, path, clock, logger, metrics } = watch;
  const { open, messages } = changesOf(before, await watch.look(), new Date(clock.now()).toISOString());
  for (const message of messages) {
    const url = `${address}${message.page}`;
    const sent = await webhook.send({ ...message, url, text: `${message.text} ${url}` }, signal);
    if (signal.aborted) return before;
    metrics.count('webhook_messages_total', { outcome: sent.ok ? 'delivered' : 'failed' });
    const { run_id, rule, event } = message;
    if (!sent.ok) logger.warn({ run: run_id, rule, event, error: sent.errorType }, 'the webhook did not take a message');
  }
  if (messages.length > 0)
    await writeTold(path, open).catch((error: unknown) => {
      logger.warn({ error: messageOf(error) }, 'the record of sent advisories could not be written: a restart may send them again');
    });
  return open;
}

async function writeTold(path: string, open: readonly OpenAdvisory[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, JSON.stringify(open.filter(({ isTold }) => isTold)));
}

/** Empty when the file is missing or unreadable. */
async function readTold(path: string): Promise<readonly OpenAdvisory[]> {
  try {
    const read: unknown = JSON.parse(await readFile(path, 'utf8'));
    return Array.isArray(read) ? (read as OpenAdvisory[]) : [];
  } catch {
    return [];
  }
}
