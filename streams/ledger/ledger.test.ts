import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { bodyOf } from '../../schemas/framing.ts';
import { publishedSchemas, type EventByType } from '../../schemas/generated/events.ts';
import { randomEvent, seeded } from '../../infra/testing/events.ts';
import { advance, emptyChain, entryHash, GENESIS, isLedgerType, type ChainHead, type LedgerEntry, type LedgerType } from './chain.ts';
import { createLedgerVerifier, type LedgerReport } from '../run/verify-ledger.ts';

const codec = createCodec();
const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

interface EncodedEntry {
  readonly entry: LedgerEntry;
  readonly body: Buffer;
}

function chainOf(entries: readonly { readonly type: LedgerType; readonly fields: object }[]): EncodedEntry[] {
  let head: ChainHead = emptyChain;
  return entries.map(({ type, fields }, i) => {
    const base = randomEvent(type, seeded(i + 1));
    const event = { ...base, ...fields, sequence: head.sequence, previous_sha256: head.previousSha256 };
    const entry = { type, event } as unknown as LedgerEntry;
    const body = bodyOf(codec.encode(entry.type, entry.event));
    head = advance(head, body);
    return { entry, body };
  });
}

const step = (version: number, trajectories: readonly string[], openGroups = -1) => {
  const { resume } = randomEvent('StepCompleted', seeded(78));
  const row = (randomEvent('StepCompleted', seeded(77)).trajectories[0] ?? {}) as object;
  return {
    type: 'StepCompleted' as const,
    fields: {
      step: version,
      version_before: version - 1,
      version_after: version,
      weights_sha256: sha(`weights ${version}`),
      batch_id: '',
      resume: { ...resume, open_groups: openGroups },
      trajectories: trajectories.map((id) => ({ ...row, trajectory_id: id })),
    },
  };
};

const started = { type: 'RunStarted' as const, fields: { weights_sha256: sha('weights 0') } };
const discard = (id: string, over: { attempt?: number; reason?: string } = {}) => ({
  type: 'TrajectoryDiscarded' as const,
  fields: { trajectory_id: id, reason: 'stale', ...over },
});
/** An admission of groups, given as their ids with their sizes. */
const admit = (groups: Readonly<Record<string, number>>) => ({
  type: 'GroupsAdmitted' as const,
  fields: { groups: Object.entries(groups).map(([id, samples]) => ({ group_id: id, question_id: 'q', samples })) },
});
const end = (fields: object = { open: -1 }) => ({ type: 'RunFinished' as const, fields: { collected: 0, ...fields } });
const whole = [started, admit({ g1: 2, g2: 1, g3: 1 }), step(1, ['g1.0', 'g1.1'], 2), discard('g2.0'), step(2, ['g3.0'], 0)];

function verify(written: readonly EncodedEntry[], versions: readonly number[] = [0, 1, 2]): LedgerReport {
  const verifier = createLedgerVerifier();
  written.forEach(({ entry, body }, i) => {
    verifier.entry(entry, body, 10 + i);
  });
  for (const version of versions) {
    const policy = { ...randomEvent('PolicyPublished', seeded(version)), version, parent: version - 1, sha256: sha(`weights ${version}`) };
    verifier.policy(policy satisfies EventByType['PolicyPublished'], sha(`weights ${version}`));
  }
  return verifier.report();
}

describe('the ledger', () => {
  it('chains the Avro bodies, whatever schema id the registry assigned', () => {
    const [first] = chainOf([started]);
    expect(first?.entry.event.previous_sha256).toBe(GENESIS);
    const other = createCodec({ idOf: (schema) => schema.length });
    expect(entryHash(bodyOf(other.encode('RunStarted', first?.entry.event as EventByType['RunStarted'])))).toBe(
      entryHash(first?.body ?? Buffer.alloc(0)),
    );
    expect(isLedgerType('StepCompleted')).toBe(true);
    expect(isLedgerType('TurnRecorded')).toBe(false);
    const ofTraining = publishedSchemas.filter(({ topic }) => topic === 'training').map(({ name }) => name);
    const others = publishedSchemas.filter(({ topic }) => topic !== 'training').map(({ name }) => name);
    expect(ofTraining.every(isLedgerType)).toBe(true);
    expect(others.some(isLedgerType)).toBe(false);
  });

  it('verifies when complete', () => {
    const report = verify(chainOf(whole));
    expect(report).toMatchObject({
      ok: true,
      entries: 5,
      steps: 2,
      version: 2,
      trained: 3,
      discarded: 1,
      open: 0,
      finished: false,
      problems: [],
    });
    expect(verify([], [])).toMatchObject({ ok: true, entries: 0 });
  });

  it('fails when any entry is missing; the published policies reveal a missing last entry', () => {
    const written = chainOf(whole);
    for (const gone of written.keys()) {
      const report = verify(written.filter((_, i) => i !== gone));
      expect(report.ok, `without entry ${gone}`).toBe(false);
    }
  });

  it('fails when one byte of any entry but the last is changed', () => {
    const written = chainOf([...whole, { type: 'RunFinished', fields: {} }]);
    fc.assert(
      fc.property(fc.nat(written.length - 2), fc.nat(5_000), (index, at) => {
        const copy = written.map((entry, i) => {
          if (i !== index) return entry;
          const body = Buffer.from(entry.body);
          const place = at % body.length;
          body[place] = (body[place] ?? 0) ^ 1;
          return { ...entry, body };
        });
        expect(verify(copy).ok).toBe(false);
      }),
    );
  });

  it('fails when a trajectory is trained twice, or trained and discarded', () => {
    expect(verify(chainOf([started, step(1, ['a.0']), step(2, ['a.0'])])).problems[0]?.problem).toContain('trained a second time');
    expect(verify(chainOf([started, step(1, ['a.0']), discard('a.0'), step(2, [])])).problems[0]?.problem).toContain('was trained before');
    expect(verify(chainOf([started, discard('a.0'), step(1, ['a.0']), step(2, [])])).problems[0]?.problem).toContain(
      'was discarded before',
    );
    expect(verify(chainOf([started, discard('a.0'), discard('a.0'), step(1, []), step(2, [])])).problems[0]?.problem).toContain(
      'discarded a second',
    );
  });

  it('accepts one discard of each attempt other than the one that decided the trajectory', () => {
    const problemsOf = (...entries: Parameters<typeof chainOf>[0]) =>
      verify(chainOf([started, admit({ a: 1 }), ...entries, step(2, [])])).problems.map(({ problem }) => problem);
    const late = discard('a.0', { attempt: 1_000, reason: 'superseded' });
    const broken = discard('a.0', { attempt: 1_001, reason: 'invalid' });
    expect(problemsOf(step(1, ['a.0']), late, broken)).toEqual([]);
    expect(problemsOf(broken, late, discard('a.0', { attempt: 0 }), step(1, []))).toEqual([]);
    expect(problemsOf(step(1, []), broken)).toEqual([]);
    expect(problemsOf(step(1, ['a.0']), late, late)).toEqual(['attempt 1000 of trajectory a.0 has a second outcome']);
    expect(problemsOf(broken, { ...broken, fields: { ...broken.fields, reason: 'expired' } }, step(1, []))).toEqual([
      'attempt 1001 of trajectory a.0 has a second outcome',
    ]);
    expect(problemsOf(step(1, []), late)).toEqual(['an attempt of trajectory a.0 is superseded, but no attempt superseded it']);
    const report = verify(
      chainOf([
        started,
        admit({ a: 1, b: 1, c: 1 }),
        step(1, ['a.0']),
        late,
        broken,
        discard('b.0', { reason: 'invalid' }),
        step(2, ['c.0']),
      ]),
    );
    expect(report).toMatchObject({ ok: true, trained: 2, discarded: 1 });
  });

  it('accounts for every trajectory that was admitted', () => {
    const told = (...entries: Parameters<typeof chainOf>[0]) => verify(chainOf([started, ...entries]), [0, 1]);
    expect(told(admit({ a: 2, b: 2, c: 1 }), step(1, ['a.0', 'a.1'], 2), discard('c.0'))).toMatchObject({
      ...{ ok: true, admitted: 5, trained: 2, discarded: 1, open: 2, notes: [] },
    });
    const problemsOf = (...entries: Parameters<typeof chainOf>[0]) => told(...entries).problems.map(({ problem }) => problem);
    expect(problemsOf(admit({ a: 2 }), step(1, ['a.0']))).toEqual([
      'group a was admitted with 2 trajectories, and 1 were trained or discarded',
    ]);
    expect(problemsOf(admit({ a: 1 }), step(1, ['a.0', 'z.0']))).toEqual(['group z was trained or discarded and never admitted']);
    expect(problemsOf(admit({ a: 1 }), admit({ a: 1 }), step(1, ['a.0']))).toEqual(['group a is admitted a second time']);
    expect(problemsOf(admit({ a: 1, b: 4 }), step(1, ['a.0'], 0)), 'a group that the trainer forgot').toEqual([
      'the trainer held 0 open groups after step 1, the ledger has 1 that are neither trained nor discarded',
    ]);
  });

  it('accounts for trajectories that were open when the run ended, if RunFinished counts them', () => {
    const begun = [started, admit({ a: 2, b: 3 }), step(1, ['a.0', 'a.1'], 1)];
    const totals = { admitted: 5, trained: 2, discarded: 0, open: 3 };
    expect(verify(chainOf([...begun, end(totals)]), [0, 1])).toMatchObject({ ok: true, ...totals, finished: true, notes: [] });
    expect(verify(chainOf([...begun, end({ ...totals, open: 0 })]), [0, 1]).problems.map(({ problem }) => problem)).toEqual([
      'RunFinished counts 0 open trajectories, the entries before it 3',
    ]);
    const older = verify(chainOf([...begun, end()]), [0, 1]);
    expect(older).toMatchObject({
      ok: true,
      open: 3,
      notes: [expect.stringContaining('3 trajectories were admitted and neither') as string],
    });
  });

  it('accounts for trajectories that were collected without a training step, batch by batch', () => {
    const start = { type: 'RunStarted' as const, fields: { weights_sha256: '', backend: 'none' } };
    const row = (randomEvent('StepCompleted', seeded(77)).trajectories[0] ?? {}) as object;
    const batch = (number: number, ids: readonly string[], open: number) => ({
      type: 'BatchCollected' as const,
      fields: {
        batch: number,
        resume: { ...randomEvent('StepCompleted', seeded(78)).resume, open_groups: open },
        trajectories: ids.map((id) => ({ ...row, trajectory_id: id })),
      },
    });
    const admitted = admit({ a: 1, b: 2, c: 1, d: 1 });
    const told = { admitted: 5, trained: 0, collected: 3, discarded: 1, open: 1 };
    const good = [start, admitted, batch(1, ['a.0'], 3), discard('c.0'), batch(2, ['b.0', 'b.1'], 1), end(told)];
    expect(verify(chainOf(good), [])).toMatchObject({ ok: true, problems: [], steps: 0, batches: 2, ...told });
    const problems = (entries: typeof good): readonly string[] => verify(chainOf(entries), []).problems.map(({ problem }) => problem);
    expect(problems([start, admitted, batch(2, ['a.0'], 3)])).toContain('batch 2 follows batch 0');
    expect(problems([start, admitted, batch(1, ['a.0'], 9)]).join()).toContain('the trainer held 9 open groups after batch 1');
    expect(problems([start, admitted, batch(1, ['a.0'], 3), batch(2, ['a.0'], 3)]).join()).toContain(
      'is collected a second time in batch 2',
    );
    expect(problems([start, admitted, discard('a.0'), batch(1, ['a.0'], 3)]).join()).toContain(
      'was discarded before it was collected in batch 1',
    );
    expect(problems([...good.slice(0, -1), end({ ...told, collected: 4 })]).join()).toContain(
      'counts 4 collected trajectories, the entries before it 3',
    );
  });

  it('accepts a continued run if each RunFinished counts the outcomes before it', () => {
    const first = [started, admit({ a: 2, b: 3 }), step(1, ['a.0', 'a.1'], 1)];
    const told = { admitted: 5, trained: 2, discarded: 0, open: 3 };
    const goOn = { type: 'RunContinued' as const, fields: { steps: 2, version: 1 } };
    const more = [...first, end(told), goOn, step(2, ['b.0', 'b.1', 'b.2'], 0)];
    expect(verify(chainOf(more))).toMatchObject({ ok: true, steps: 2, trained: 5, open: 0, finished: false, continued: 1, problems: [] });
    const last = { admitted: 5, trained: 5, discarded: 0, open: 0 };
    expect(verify(chainOf([...more, end(last)]))).toMatchObject({ ok: true, finished: true, continued: 1 });
    const problemsOf = (...entries: Parameters<typeof chainOf>[0]) => verify(chainOf(entries)).problems.map(({ problem }) => problem);
    expect(problemsOf(...more, end(told))).toContain('RunFinished counts 2 trained trajectories, the entries before it 5');
    expect(problemsOf(...first, end({ ...told, open: 0 }), goOn, step(2, ['b.0', 'b.1', 'b.2'], 0))).toEqual([
      'RunFinished counts 0 open trajectories, the entries before it 3',
    ]);
    expect(problemsOf(...first, goOn, step(2, ['b.0', 'b.1', 'b.2'], 0))).toEqual(['entry 3 continues a run that had not ended']);
    expect(problemsOf(...more.slice(0, 5), goOn, step(2, ['b.0', 'b.1', 'b.2'], 0))).toEqual([
      'entry 5 continues a run that had not ended',
    ]);
  });

  it('fails when versions have a gap, or when weights differ or were never published', () => {
    expect(verify(chainOf([started, step(2, [])]), [0, 2]).problems.map(({ problem }) => problem)).toEqual(['step 2 follows step 0']);
    expect(verify(chainOf(whole), [0, 1]).problems[0]?.problem).toContain('never published');
    expect(verify(chainOf(whole.slice(0, 3)), [0, 1, 2]).problems[0]?.problem).toContain('the end of the ledger is missing');
    const verifier = createLedgerVerifier();
    verifier.policy({ ...randomEvent('PolicyPublished', seeded(1)), version: 0, sha256: sha('claimed') }, sha('found'));
    expect(verifier.report().problems[0]?.problem).toContain('claims weights');
    const [first] = chainOf([started]);
    const orphans = createLedgerVerifier();
    if (first !== undefined) orphans.entry(first.entry, first.body, 0);
    const orphan = { ...randomEvent('PolicyPublished', seeded(1)), version: 0, parent: 3, sha256: sha('weights 0') };
    orphans.policy(orphan, orphan.sha256);
    expect(orphans.report().problems[0]?.problem).toContain('as a child of 3');
  });

  it('fails when something comes after the end of the run, or the run begins twice', () => {
    const ended = chainOf([started, end(), { type: 'GroupsAdmitted', fields: {} }]);
    expect(verify(ended, [0]).problems[0]?.problem).toContain('after the end');
    expect(verify(ended.slice(0, 2), [0])).toMatchObject({ ok: true, finished: true });
    expect(verify(chainOf([started, started]), [0]).problems[0]?.problem).toContain('RunStarted is the first');
  });
});
