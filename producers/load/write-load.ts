// Writes a load to the log at a given rate, or as fast as the log accepts it. Counts what is acknowledged. After an abort it starts nothing
// new and waits for pending appends, so that the counts match the log.
import { calledTool } from '../rollouts/worker/rollout-events.ts';
import type { EventWriter, OutgoingEvent } from '../../streams/core/ports.ts';
import type { Load } from './load.ts';

export interface LoadCounts {
  events: number;
  turns: number;
  /** Requested trajectories, without repeated attempts. */
  trajectories: number;
  finished: number;
  tokens: number;
  toolErrors: number;
}

export interface WriteLoadOptions {
  readonly load: Load;
  readonly writer: EventWriter;
  /** Turns per second; 0 = as fast as possible. */
  readonly rate: number;
  readonly signal: AbortSignal;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Resolves after `ms`, or at once when the signal aborts. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onProgress?: (counts: Readonly<LoadCounts>) => void;
}

/** Concurrent appends: encoding continues while the broker works. */
const APPENDS = 3;
const PORTION = 1_000;
/** With a rate, portions are sized so that one is due about this often, ms. */
const TICK_MS = 25;

/** Resolves with the counts when the load is complete or the signal aborts. */
export async function writeLoad(options: WriteLoadOptions): Promise<Readonly<LoadCounts>> {
  const { load, writer, rate, signal } = options;
  const counts: LoadCounts = { events: 0, turns: 0, trajectories: 0, finished: 0, tokens: 0, toolErrors: 0 };
  const underWay = new Set<Promise<void>>();
  const began = options.now();
  const size = rate === 0 ? PORTION : Math.max(1, Math.min(PORTION, Math.round((rate * TICK_MS) / 1_000)));
  let taken = 0;

  async function append(events: readonly OutgoingEvent[]): Promise<void> {
    await writer.append(events);
    for (const event of events) count(counts, event);
    options.onProgress?.(counts);
  }

  while (!signal.aborted) {
    const portion = takePortion(load, size);
    if (portion.length === 0) break;
    const work = append(portion);
    underWay.add(work);
    const done = (): void => void underWay.delete(work);
    work.then(done, done);
    taken += portion.filter(({ type }) => type === 'TurnRecorded').length;
    if (underWay.size >= APPENDS) await Promise.race(underWay);
    if (rate > 0) await options.pause(Math.max(0, (taken / rate) * 1_000 - (options.now() - began)), signal);
  }
  await Promise.all(underWay);
  return counts;
}

function takePortion(load: Load, size: number): readonly OutgoingEvent[] {
  const portion: OutgoingEvent[] = [];
  while (portion.length < size) {
    const event = load.next();
    if (event === undefined) break;
    portion.push(event);
  }
  return portion;
}

function count(counts: LoadCounts, { type, event }: OutgoingEvent): void {
  counts.events += 1;
  if (type === 'TrajectoryRequested') counts.trajectories += event.attempt === 0 ? 1 : 0;
  if (type === 'TrajectoryFinished') counts.finished += 1;
  if (type !== 'TurnRecorded') return;
  counts.turns += 1;
  counts.tokens += event.completion_tokens;
  if (calledTool(event) && event.status !== 'ok') counts.toolErrors += 1;
}
