// Finds a run's PolicyPublished events from the end of the topic backward, so that a start reads the tail and not the history. Skips
// records of other runs by their header.
import type { PolicyPublished } from '../../../schemas/generated/events.ts';
import type { EventReader, LogBatch, LogReader, RunIndex } from '../../../streams/core/ports.ts';
import { batchesOf, ofRun } from '../../../streams/core/read-log.ts';

export interface PolicyTailOptions {
  readonly runId: string;
  readonly log: LogReader;
  readonly reader: EventReader;
  /** Where runs begin; without it, the topic is searched back to its start. */
  readonly index?: RunIndex | undefined;
}

/** End offsets of `policies`, by partition. */
export type EndOffsets = ReadonlyMap<number, number>;

const FIRST_WINDOW = 16;
const GROWTH = 8;

/** The events of a batch that are this run's policies; undecodable records are skipped (the warehouse keeps them). */
export async function policiesOf(
  batch: LogBatch,
  { runId, reader }: Pick<PolicyTailOptions, 'runId' | 'reader'>,
): Promise<PolicyPublished[]> {
  const found: PolicyPublished[] = [];
  for (const record of batch.records.filter(ofRun(runId))) {
    const read = await reader.read(record);
    if (read.ok && read.value.type === 'PolicyPublished' && read.value.event.run_id === runId) found.push(read.value.event);
  }
  return found;
}

/**
 * Reads growing windows of the tail until `take` has enough or the start of the run is reached. Each window is delivered from its oldest
 * event, without the events of earlier windows.
 */
export async function readTail(
  options: PolicyTailOptions,
  ends: EndOffsets,
  take: (events: readonly PolicyPublished[]) => boolean,
): Promise<void> {
  const firsts = new Map((await options.log.bounds('policies')).map(({ partition, first }) => [partition, first]));
  let floor = 0;
  let upTo: EndOffsets = ends;
  for (let window = FIRST_WINDOW; ; window *= GROWTH) {
    const from = new Map(
      [...ends].map(([partition, end]) => [partition, Math.max(firsts.get(partition) ?? 0, Math.min(floor, end), end - window)]),
    );
    const events = await readBetween(options, from, upTo);
    const exhausted = [...from].every(([partition, offset]) => offset <= Math.max(floor, firsts.get(partition) ?? 0));
    if (take(events) || exhausted) return;
    upTo = from;
    // A run that has not started has published nothing before `ends`.
    if (options.index !== undefined) floor = (await options.index.startOf(options.runId))?.policies ?? Infinity;
  }
}

async function readBetween(options: PolicyTailOptions, from: EndOffsets, upTo: EndOffsets): Promise<readonly PolicyPublished[]> {
  const found: PolicyPublished[] = [];
  for await (const batch of batchesOf(options.log, 'policies', { from, to: upTo })) found.push(...(await policiesOf(batch, options)));
  return found;
}
