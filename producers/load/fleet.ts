// Runs many synthetic attempts at once and merges them into one sequence by their own time. Like workers, it has a number of slots: a task
// waits until one is free.
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { attemptEvents, type AttemptEnd } from './attempt.ts';
import type { LoadShape } from './shape.ts';
import { createTimeline } from './timeline.ts';

export interface OfferedTask {
  readonly task: TrajectoryRequested;
  readonly claim: { readonly partition: number; readonly offset: number };
  /** Has no end event, like an attempt that still runs. */
  readonly unfinished: boolean;
}

export interface SyntheticFleetOptions {
  readonly shape: LoadShape;
  /** Attempts that run at once. */
  readonly places: number;
  readonly workers: number;
  readonly startMs: number;
  readonly versionAt: (ms: number) => number;
  readonly onEnded?: (offered: OfferedTask, end: AttemptEnd) => void;
}

export interface SyntheticFleet {
  readonly free: number;
  readonly running: number;
  /** Time of the newest event, ms. */
  readonly nowMs: number;
  /** Starts an attempt; a slot must be free. */
  begin(offered: OfferedTask): void;
  /** The next event by time; undefined when nothing runs. */
  next(): OutgoingEvent | undefined;
}

interface SyntheticAttempt {
  readonly offered: OfferedTask;
  readonly events: Generator<OutgoingEvent, AttemptEnd>;
  readonly event: OutgoingEvent;
}

export function createFleet(options: SyntheticFleetOptions): SyntheticFleet {
  const timeline = createTimeline<SyntheticAttempt>();
  let nowMs = options.startMs;
  let begun = 0;

  function advance(offered: OfferedTask, events: SyntheticAttempt['events']): void {
    const step = events.next();
    if (step.done === true) options.onEnded?.(offered, step.value);
    else timeline.add(step.value.event.occurred_at, { offered, events, event: step.value });
  }

  return {
    get free() {
      return options.places - timeline.size;
    },
    get running() {
      return timeline.size;
    },
    get nowMs() {
      return nowMs;
    },
    begin(offered) {
      const workerId = `synthetic-${begun % options.workers}`;
      begun += 1;
      const { shape, versionAt } = options;
      advance(offered, attemptEvents({ ...offered, workerId, startMs: nowMs, shape, versionAt }));
    },
    next() {
      const first = timeline.take();
      if (first === undefined) return undefined;
      nowMs = Math.max(nowMs, first.event.event.occurred_at / 1_000);
      advance(first.offered, first.events);
      return first.event;
    },
  };
}
