// Shared by the tests of the synthetic load: collects the events of each attempt.
import { expect } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import type { TrajectoryFinished, TrajectoryRequested, TurnRecorded } from '../../schemas/generated/events.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { createLoad, type LoadOptions } from './load.ts';
import { defaultShape } from './shape.ts';

export const codec = createCodec();

export const optionsFor = (options: Partial<LoadOptions> = {}): LoadOptions => ({
  runId: 'synthetic-test',
  purpose: 'external',
  seed: 1,
  producer: 'load/1',
  startMs: 1_700_000_000_000,
  shape: defaultShape,
  trajectories: 40,
  turns: Infinity,
  open: 0,
  places: 16,
  ...options,
});

export function eventsOf(options: LoadOptions): readonly OutgoingEvent[] {
  const load = createLoad(options);
  const events: OutgoingEvent[] = [];
  for (let event = load.next(); event !== undefined; event = load.next()) events.push(event);
  return events;
}

interface TrajectoryStory {
  request: TrajectoryRequested | undefined;
  readonly sequences: number[];
  readonly turns: TurnRecorded[];
  finished: TrajectoryFinished | undefined;
}

/** The events of each attempt, by `<trajectory>/<attempt>`. */
export function storiesOf(events: readonly OutgoingEvent[]): ReadonlyMap<string, TrajectoryStory> {
  const stories = new Map<string, TrajectoryStory>();
  for (const outgoing of events) {
    const { type, event } = outgoing;
    if (!('trajectory_id' in event) || type === 'TrajectoryExpired' || type === 'TrajectoryDiscarded') continue;
    const id = `${event.trajectory_id}/${event.attempt}`;
    const story = stories.get(id) ?? { request: undefined, sequences: [], turns: [], finished: undefined };
    stories.set(id, story);
    if ('sequence' in event) {
      expect(story.request, `${id} begins after it was asked for`).toBeDefined();
      story.sequences.push(event.sequence);
    }
    tell(story, outgoing);
  }
  return stories;
}

function tell(story: TrajectoryStory, { type, event }: OutgoingEvent): void {
  if (type === 'TrajectoryRequested') story.request = event;
  if (type === 'TurnRecorded' && story.turns.at(-1)?.sequence !== event.sequence) story.turns.push(event);
  if (type === 'TrajectoryFinished') story.finished = event;
}

export const faultless = { ...defaultShape, faults: 0 };
