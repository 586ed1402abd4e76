// Copies of the good log with one error each.
import type { DecodedEvent } from '../../../schemas/codec.ts';
import type { EventByType } from '../../../schemas/generated/events.ts';
import { edit } from './edit-fact.testing.ts';
import type { LogFact, RolloutFact, RunFacts } from './facts.ts';
import { good } from './good-log.testing.ts';
import { settings } from './scripted-log.testing.ts';

/** The ledger with one changed entry: the `nth` of its type. */
export function withEntry<T extends DecodedEvent['type']>(type: T, change: (event: EventByType[T]) => EventByType[T], nth = 1): RunFacts {
  return { ...good, training: changed(good.training, { type, nth, change: (fact) => [edit(fact, change)] }) };
}

interface Change {
  readonly type: DecodedEvent['type'];
  readonly nth: number;
  readonly change: (fact: LogFact) => readonly LogFact[];
}

function changed(facts: readonly LogFact[], { type, nth, change }: Change): readonly LogFact[] {
  let seen = 0;
  return facts.flatMap((fact) => {
    if (fact.read.type === type) seen += 1;
    return fact.read.type === type && seen === nth + 1 ? change(fact) : [fact];
  });
}

type StepEvent = EventByType['StepCompleted'];

type StepTrajectory = StepEvent['trajectories'][number];

export const withRow = (change: (row: StepTrajectory) => StepTrajectory): RunFacts =>
  withEntry('StepCompleted', (event) => ({ ...event, trajectories: event.trajectories.map((row, i) => (i === 1 ? change(row) : row)) }), 5);

export const withStep = (change: (event: StepEvent) => StepEvent): RunFacts => withEntry('StepCompleted', change, 5);

export const withoutEntry = (type: DecodedEvent['type'], nth = 1): RunFacts => ({
  ...good,
  training: changed(good.training, { type, nth, change: () => [] }),
});

/** An attempt that a step trained on. */
export const trainedRow = (): StepTrajectory =>
  good.training.flatMap(({ read }) => (read.type === 'StepCompleted' ? read.event.trajectories : []))[9]!;

export const withRecords = (change: (fact: RolloutFact) => readonly RolloutFact[]): RunFacts => {
  const { trajectory_id: id, attempt } = trainedRow();
  return {
    ...good,
    rollouts: good.rollouts.flatMap((fact) => (fact.trajectory === id && fact.attempt === attempt ? change(fact) : [fact])),
  };
};

export const withTurn = (change: (part: Extract<RolloutFact['part'], { kind: 'turn' }>) => RolloutFact['part']): RunFacts =>
  withRecords((fact) => [fact.part.kind === 'turn' ? { ...fact, part: change(fact.part) } : fact]);

export const withTask = (change: (fact: LogFact) => readonly LogFact[]): RunFacts => ({
  ...good,
  tasks: good.tasks.flatMap((fact, i) => (i === 8 ? change(fact) : [fact])),
});

export const withPolicy = (change: (event: EventByType['PolicyPublished']) => EventByType['PolicyPublished']): RunFacts => ({
  ...good,
  policies: good.policies.map((fact, i) => (i === 4 ? edit<'PolicyPublished'>(fact, change) : fact)),
});

/** A step that trains again on a trajectory of the previous step. */
export function trainedTwice(): RunFacts {
  const earlier = good.training.flatMap(({ read }) => (read.type === 'StepCompleted' ? [read.event] : []))[4]!.trajectories[0]!;
  return withStep((event) => ({ ...event, trajectories: [...event.trajectories, earlier] }));
}

export const addDiscard = (fields: Partial<EventByType['TrajectoryDiscarded']>): RunFacts => {
  const template = good.training.find(({ read }) => read.type === 'TrajectoryDiscarded')!;
  const last = good.training.at(-1)!;
  const added = edit<'TrajectoryDiscarded'>(template, (event) => ({ ...event, ...fields, sequence: good.training.length }));
  return { ...good, training: [...good.training, { ...added, offset: last.offset + 2 }] };
};

/** The first completely trained group, removed from its step. */
export function forgotten(): RunFacts {
  const rows = good.training.flatMap(({ read }) => (read.type === 'StepCompleted' ? read.event.trajectories : []));
  const group = rows.find(({ group_id: id }) => rows.filter((row) => row.group_id === id).length === settings.groupSize)?.group_id;
  return {
    ...good,
    training: good.training.map((fact) =>
      fact.read.type === 'StepCompleted'
        ? edit<'StepCompleted'>(fact, (event) => ({ ...event, trajectories: event.trajectories.filter((row) => row.group_id !== group) }))
        : fact,
    ),
  };
}

/** An open group whose requests are gone, and which no worker has started. */
export function vanished(): RunFacts {
  const closed = new Set(
    good.training.flatMap(({ read }) => {
      if (read.type === 'StepCompleted') return read.event.trajectories.map((row) => row.group_id);
      return read.type === 'TrajectoryDiscarded' ? [read.event.group_id] : [];
    }),
  );
  const admitted = good.training.flatMap(({ read }) => (read.type === 'GroupsAdmitted' ? read.event.groups : []));
  const open = admitted.find(({ group_id: id }) => !closed.has(id))?.group_id;
  const isOf = ({ read }: LogFact): boolean => read.type === 'TrajectoryRequested' && read.event.group_id === open;
  const tasks = good.tasks.filter(isOf);
  const gone = { how: 'deleted', topic: 'tasks', ledgerEnd: 0, ranges: [], tasks, rollouts: [] } as const;
  return {
    ...good,
    tasks: good.tasks.filter((fact) => !isOf(fact)),
    rollouts: good.rollouts.filter(({ group }) => group !== open),
    gone: [gone],
  };
}

/** The log has lost the records of a step after the step was made. */
export function cutAway(): RunFacts {
  const { trajectory_id: id } = trainedRow();
  const lost = good.rollouts.filter((fact) => fact.trajectory === id).slice(-2);
  const [first] = lost;
  const ranges = [{ partition: first!.partition, from: first!.offset, to: first!.offset + 1 }];
  const gone = { how: 'cut', topic: 'rollouts', ledgerEnd: Infinity, ranges, tasks: [], rollouts: lost } as const;
  return { ...good, rollouts: good.rollouts.filter((fact) => !lost.includes(fact)), gone: [gone] };
}
