import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomEvent, seeded } from '../../infra/testing/events.ts';
import type { StepCompleted } from '../../schemas/generated/events.ts';
import type { LedgerEntry } from './chain.ts';
import { diffLedgers, diffStepValues, type LedgerDiff } from './diff.ts';
import { createOutliner, stepFields, type Outliner } from './outline.ts';

interface LedgerShape {
  readonly seed: number;
  readonly steps: number;
  readonly groups: number;
  readonly samples: number;
}

const shapes = fc.record({
  seed: fc.nat(10_000),
  steps: fc.integer({ min: 1, max: 4 }),
  groups: fc.integer({ min: 1, max: 3 }),
  samples: fc.integer({ min: 1, max: 3 }),
});

/** The ledger of a run with this name; the same shape gives the same run, whatever its name. */
function ledgerOf(run: string, { seed, steps, groups, samples }: LedgerShape): LedgerEntry[] {
  const random = seeded(seed);
  const learner = JSON.stringify({ architecture: { inputs: 4, hidden: [8] }, hyper: { clip: 0.4 } });
  const entries: LedgerEntry[] = [{ type: 'RunStarted', event: randomEvent('RunStarted', random, { run_id: run, learner }) }];
  const id = (group: number): string => `${run}-g${String(group).padStart(6, '0')}`;
  const row = randomEvent('StepCompleted', seeded(77)).trajectories[0]!;
  for (let step = 1; step <= steps; step += 1) {
    const first = (step - 1) * (groups + 1);
    const admitted = Array.from({ length: groups + 1 }, (_, i) => ({
      group_id: id(first + i),
      question_id: `q-${Math.floor(random() * 5)}`,
      samples,
    }));
    entries.push({ type: 'GroupsAdmitted', event: randomEvent('GroupsAdmitted', random, { version: step - 1, groups: admitted }) });
    const members = (group: string) => Array.from({ length: samples }, (_, sample) => `${group}.${sample}`);
    const trajectories = admitted
      .slice(0, groups)
      .flatMap(({ group_id, question_id }) =>
        members(group_id).map((trajectory_id) => ({ ...row, group_id, question_id, trajectory_id, reward: random(), advantage: random() })),
      );
    entries.push({ type: 'StepCompleted', event: randomEvent('StepCompleted', random, { step, trajectories }) });
    for (const trajectory_id of members(admitted[groups]!.group_id)) {
      const event = randomEvent('TrajectoryDiscarded', random, {
        group_id: admitted[groups]!.group_id,
        trajectory_id,
        version: step,
        attempt: 0,
      });
      entries.push({ type: 'TrajectoryDiscarded', event });
    }
  }
  return entries;
}

function outlined(entries: readonly LedgerEntry[]): Outliner {
  const outliner = createOutliner();
  for (const [i, entry] of entries.entries()) outliner.entry(entry, { partition: 0, offset: 3 * i });
  return outliner;
}

const diff = (a: readonly LedgerEntry[], b: readonly LedgerEntry[]): LedgerDiff =>
  diffLedgers(outlined(a).outline(), outlined(b).outline());

/** The entries with one of them changed. */
const withChange = (entries: readonly LedgerEntry[], at: number, change: object): LedgerEntry[] =>
  entries.map((entry, i) => (i === at ? ({ ...entry, event: { ...entry.event, ...change } } as LedgerEntry) : entry));

const other = (value: unknown): unknown => (typeof value === 'number' ? value + 1 : `${String(value)}x`);
const pickOf = <T>(values: readonly T[], n: number): T => values[n % values.length]!;
const CLOCKS = new Set(['queue_ms', 'flight_ms', 'group_id', 'trajectory_id']);

describe('the difference between two ledgers', () => {
  it('is empty for a ledger and itself, under another name, at other times, with other ids and hashes', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const a = ledgerOf('run-a', shape);
        const b = ledgerOf('other-run-2', shape).map((entry, i) => ({
          ...entry,
          event: {
            ...entry.event,
            event_id: `e${i}`,
            occurred_at: i,
            producer: 'p',
            sequence: i + 7,
            previous_sha256: 'x',
            batch_sha256: 'y',
            wait_ms: i,
          },
        })) as LedgerEntry[];
        const found = diff(a, b);
        expect(found).toMatchObject({ same: true, trainedSame: true, first: undefined, firstStep: undefined, settings: [] });
        expect(found.steps).toMatchObject({ compared: shape.steps, equal: shape.steps, differing: 0, byField: {} });
        expect(found.questions.compared).toBe(shape.steps * (shape.groups + 1));
        expect(found.discards.compared).toBe(shape.steps * shape.samples);
      }),
    );
  });

  it('finds any changed value of a step, and where it is', () => {
    fc.assert(
      fc.property(shapes, fc.tuple(fc.nat(), fc.nat(), fc.nat()), (shape, [which, where, field]) => {
        const a = ledgerOf('run-a', shape);
        const places = a.flatMap((entry, i) => (entry.type === 'StepCompleted' ? [i] : []));
        const at = pickOf(places, which);
        const event = a[at]!.event as StepCompleted;
        const row = where % event.trajectories.length;
        const names = Object.keys(event.trajectories[row]!).filter((name) => !CLOCKS.has(name));
        const name = pickOf(names, field) as keyof StepCompleted['trajectories'][number];
        const trajectories = event.trajectories.map((one, i) => (i === row ? { ...one, [name]: other(one[name]) } : one));
        const b = withChange(a, at, { trajectories });
        const found = diff(a, b);
        expect(found).toMatchObject({ same: false, trainedSame: false, first: { kind: 'step', at: event.step } });
        expect(found.steps).toMatchObject({ differing: 1, equal: shape.steps - 1 });
        expect(Object.values(found.steps.byField)).toEqual([1]);
        expect(found.firstStep).toMatchObject({ a: { step: event.step }, b: { step: event.step, offset: 3 * at } });
        const details = diffStepValues(outlined(a).valuesOf(event), outlined(b).valuesOf(b[at]!.event as StepCompleted));
        expect(details).toHaveLength(1);
        expect(details[0]).toMatchObject({ name, a: String(event.trajectories[row]![name]) });
        const group = event.trajectories[row]!.group_id;
        expect(details[0]!.trajectory).toBe(`g${Number(group.slice(-6))}.${event.trajectories[row]!.trajectory_id.split('.').at(-1)!}`);
      }),
    );
  });

  it.each([
    ['weights_sha256', 'weights'],
    ['optimizer_sha256', 'optimizer'],
    ['tokens', 'totals'],
    ['unknown_tokens', 'totals'],
    ['groups', 'totals'],
    ['version_before', 'totals'],
  ] as const)('finds a changed %s of a step', (name, field) => {
    const a = ledgerOf('run-a', { seed: 1, steps: 3, groups: 2, samples: 2 });
    const at = a.findIndex(({ type, event }) => type === 'StepCompleted' && event.step === 2);
    const found = diff(a, withChange(a, at, { [name]: other((a[at]!.event as StepCompleted)[name]) }));
    expect(found).toMatchObject({ trainedSame: false, first: { at: 2, what: field } });
    expect(found.steps.byField).toEqual({ [field]: 1 });
  });

  it('finds changed metrics, trajectories in another order, and trajectories that only one ledger has', () => {
    const a = ledgerOf('run-a', { seed: 2, steps: 2, groups: 2, samples: 2 });
    const at = a.findIndex(({ type }) => type === 'StepCompleted');
    const event = a[at]!.event as StepCompleted;
    const changed = (change: object): LedgerDiff => diff(a, withChange(a, at, change));
    expect(changed({ metrics: { ...event.metrics, loss: 9 } }).steps.byField).toEqual({ metrics: 1 });
    const reversed = { trajectories: [...event.trajectories].reverse() };
    expect(changed(reversed).steps.byField).toMatchObject({ trajectories: 1 });
    expect(diffStepValues(outlined(a).valuesOf(event), outlined(a).valuesOf({ ...event, ...reversed }))).toEqual([]);
    const fewer = { ...event, trajectories: event.trajectories.slice(1) };
    const gone = diffStepValues(outlined(a).valuesOf(event), outlined(a).valuesOf(fewer));
    expect(new Set(gone.map(({ trajectory, b }) => `${trajectory} ${b}`))).toEqual(new Set(['g0.0 nothing']));
    expect(new Set(diffStepValues(outlined(a).valuesOf(fewer), outlined(a).valuesOf(event)).map(({ a: one }) => one))).toEqual(
      new Set(['nothing']),
    );
  });

  it('finds any changed setting, including those of the learner, before all else', () => {
    const a = ledgerOf('run-a', { seed: 3, steps: 1, groups: 1, samples: 2 });
    for (const name of [
      'seed',
      'algorithm',
      'backend',
      'batch_groups',
      'max_staleness',
      'weights_sha256',
      'dataset',
      'stale_policy',
    ] as const) {
      const value = (a[0]!.event as unknown as Record<string, unknown>)[name];
      const found = diff(a, withChange(a, 0, { [name]: other(value) }));
      expect(found.settings.map((one) => one.name)).toEqual([name]);
      expect(found).toMatchObject({ same: false, trainedSame: true, first: { kind: 'settings', at: -1, what: name } });
    }
    const learner = JSON.stringify({ architecture: { inputs: 4, hidden: [8] }, hyper: { clip: 0.2, extra: 1 } });
    expect(diff(a, withChange(a, 0, { learner })).settings).toEqual([
      { name: 'learner.hyper.clip', a: '0.4', b: '0.2' },
      { name: 'learner.hyper.extra', a: 'nothing', b: '1' },
    ]);
    expect(diff(a, withChange(a, 0, { learner: 'no JSON' })).settings.map(({ name }) => name)).toContain('learner');
  });

  it('finds any changed question, and which group it was', () => {
    fc.assert(
      fc.property(shapes, fc.nat(), fc.nat(), (shape, which, member) => {
        const a = ledgerOf('run-a', shape);
        const places = a.flatMap((entry, i) => (entry.type === 'GroupsAdmitted' ? [i] : []));
        const at = pickOf(places, which);
        const { groups, version } = a[at]!.event as Extract<LedgerEntry, { type: 'GroupsAdmitted' }>['event'];
        const place = member % groups.length;
        const change = { groups: groups.map((one, i) => (i === place ? { ...one, question_id: 'q-new' } : one)) };
        const found = diff(a, withChange(a, at, change));
        expect(found).toMatchObject({ same: false, trainedSame: true, questions: { differing: 1, onlyA: 0, onlyB: 0 } });
        const group = Number(groups[place]!.group_id.slice(-6));
        expect(found.first).toMatchObject({ kind: 'questions', at: version, what: `group ${group}` });
      }),
    );
  });

  it('finds any changed discard, and a discard that only one ledger has', () => {
    fc.assert(
      fc.property(shapes, fc.nat(), fc.constantFrom('reason', 'reward', 'tokens', 'turns', 'question_id'), (shape, which, name) => {
        const a = ledgerOf('run-a', shape);
        const at = pickOf(
          a.flatMap((entry, i) => (entry.type === 'TrajectoryDiscarded' ? [i] : [])),
          which,
        );
        const event = a[at]!.event as Extract<LedgerEntry, { type: 'TrajectoryDiscarded' }>['event'];
        const found = diff(a, withChange(a, at, { [name]: other(event[name as 'reason']) }));
        expect(found).toMatchObject({ same: false, trainedSame: true, discards: { differing: 1 } });
        expect(found.first).toMatchObject({ kind: 'discards', at: event.version });
        expect(found.first!.what).toBe(`g${Number(event.group_id.slice(-6))}.${event.trajectory_id.split('.').at(-1)!}/0`);
        const without = a.filter((_, i) => i !== at);
        expect(diff(a, without).discards).toMatchObject({ differing: 0, onlyA: 1, onlyB: 0 });
        expect(diff(without, a)).toMatchObject({ discards: { onlyA: 0, onlyB: 1 }, first: { a: 'nothing' } });
      }),
    );
  });

  it('reports which run continues after the other has ended', () => {
    const long = ledgerOf('run-a', { seed: 4, steps: 3, groups: 1, samples: 2 });
    const short = ledgerOf('run-a', { seed: 4, steps: 2, groups: 1, samples: 2 });
    const found = diff(long, short);
    expect(found.steps).toMatchObject({ compared: 2, equal: 2, differing: 0, onlyA: 1, onlyB: 0 });
    expect(found).toMatchObject({ same: false, trainedSame: false, firstStep: undefined, questions: { onlyA: 2 } });
    expect(found.first).toMatchObject({ kind: 'questions', what: 'group 4', b: 'nothing' });
    expect(diff(short, long).steps).toMatchObject({ onlyA: 0, onlyB: 1 });
    const onlySteps = (entries: readonly LedgerEntry[]): LedgerEntry[] =>
      entries.filter(({ type }) => type !== 'GroupsAdmitted' && type !== 'TrajectoryDiscarded');
    expect(diff(onlySteps(short), onlySteps(long)).first).toMatchObject({
      kind: 'step',
      at: 3,
      a: 'ends after step 2',
      b: 'trains step 3',
    });
  });

  it('reports the first difference in the order of training', () => {
    const a = ledgerOf('run-a', { seed: 5, steps: 3, groups: 1, samples: 2 });
    const steps = a.flatMap((entry, i) => (entry.type === 'StepCompleted' ? [i] : []));
    const discards = a.flatMap((entry, i) => (entry.type === 'TrajectoryDiscarded' ? [i] : []));
    const late = withChange(a, steps[2]!, { tokens: 1 });
    expect(diff(a, withChange(late, discards[0]!, { reason: 'x' })).first).toMatchObject({ kind: 'discards', at: 1 });
    expect(diff(a, withChange(late, steps[0]!, { tokens: 1 })).first).toMatchObject({ kind: 'step', at: 1 });
    expect(diff(a, withChange(late, discards.at(-1)!, { reason: 'x' })).first).toMatchObject({ kind: 'step', at: 3 });
  });

  it('keeps the id of a group that was never admitted, and treats zeros of either sign as equal', () => {
    const a = ledgerOf('run-a', { seed: 6, steps: 1, groups: 1, samples: 1 });
    const stray = a.filter(({ type }) => type !== 'GroupsAdmitted');
    const event = stray.find(({ type }) => type === 'StepCompleted')!.event as StepCompleted;
    expect(
      outlined(stray)
        .valuesOf(event)
        .map(({ trajectory }) => trajectory),
    ).toContain(event.trajectories[0]!.trajectory_id);
    const at = a.findIndex(({ type }) => type === 'StepCompleted');
    expect(diff(withChange(a, at, { tokens: 0 }), withChange(a, at, { tokens: -0 })).same).toBe(true);
    expect(stepFields).toContain('weights');
  });
});
