import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnswerScored, TrajectoryFinished, WorkerHeartbeat } from '../../schemas/generated/events.ts';
import type { DecodedEvent } from '../../schemas/codec.ts';
import { randomEvent, seeded } from '../../infra/testing/events.ts';
import {
  evaluationGroupOf,
  foldRollout,
  isComplete,
  newEvaluation,
  nextSteps,
  noteEarlier,
  noteRequested,
  noteScored,
  type EvaluationState,
  type EvaluationStep,
} from './evaluation.ts';
import { summarize } from './scores.ts';

const plan = { evaluationId: 'e', questions: ['qa', 'qb'], samples: 2 };
const options = { silenceMs: 100, maxAttempts: 3 };
const first = `${evaluationGroupOf('e', 0)}.0`;

const finished = (trajectory: string, attempt: number, fields: Partial<TrajectoryFinished>): DecodedEvent => ({
  type: 'TrajectoryFinished',
  event: randomEvent('TrajectoryFinished', seeded(1), { trajectory_id: trajectory, attempt, ...fields }),
});
const turn = (trajectory: string, attempt: number): DecodedEvent => ({
  type: 'TurnRecorded',
  event: randomEvent('TurnRecorded', seeded(1), { trajectory_id: trajectory, attempt }),
});
const begun = (trajectory: string, attempt: number): DecodedEvent => ({
  type: 'TrajectoryStarted',
  event: randomEvent('TrajectoryStarted', seeded(1), { trajectory_id: trajectory, attempt }),
});
const heartbeat = (running: readonly (readonly [string, number])[], fields: Partial<WorkerHeartbeat> = {}): DecodedEvent => ({
  type: 'WorkerHeartbeat',
  event: randomEvent('WorkerHeartbeat', seeded(1), {
    worker_id: 'w',
    capacity: 4,
    addressee: '',
    running: running.map(([id, attempt]) => ({ group_id: 'g', trajectory_id: id, attempt })),
    ...fields,
  }),
});
const scoreOf = (trajectory: string, fields: Partial<AnswerScored> = {}): AnswerScored =>
  randomEvent('AnswerScored', seeded(1), { trajectory_id: trajectory, ...fields });

/** The due steps in short form. */
const due = (state: EvaluationState, nowMs: number): readonly string[] =>
  nextSteps(state, nowMs, options).map((step) => `${step.kind} ${step.sample.trajectoryId}/${step.attempt}`);

function requestedAll(atMs = 0): EvaluationState {
  const state = newEvaluation(plan);
  for (const id of state.samples.keys()) noteRequested(state, { trajectory_id: id, attempt: 0 }, atMs);
  return state;
}

describe('an evaluation', () => {
  it('requests every answer once', () => {
    const state = newEvaluation(plan);
    expect(due(state, 0)).toEqual(['request e-q0.0/0', 'request e-q0.1/0', 'request e-q1.0/0', 'request e-q1.1/0']);
    expect(due(requestedAll(), 0)).toEqual([]);
  });

  it('scores the first attempt to finish, whichever it is', () => {
    const state = requestedAll();
    noteRequested(state, { trajectory_id: first, attempt: 1 }, 10);
    foldRollout(state, finished(first, 1, { status: 'answered', f1: 0.5 }), 20);
    foldRollout(state, finished(first, 0, { status: 'answered', f1: 1 }), 21);
    const [step] = nextSteps(state, 22, options);
    expect(step).toMatchObject({ kind: 'score', attempt: 1, ending: { f1: 0.5 } });
    noteScored(state, scoreOf(first));
    noteScored(state, scoreOf(first, { f1: 77 }));
    expect(state.samples.get(first)?.score?.f1).not.toBe(77);
    expect(due(state, 22)).toEqual([]);
  });

  it('requests another attempt after one that failed, and counts the last one as it is', () => {
    const status = 'failed';
    const state = requestedAll();
    foldRollout(state, finished(first, 0, { status }), 1);
    expect(due(state, 1)).toEqual([`request ${first}/1`]);
    noteRequested(state, { trajectory_id: first, attempt: 1 }, 1);
    expect(due(state, 1)).toEqual([]);
    foldRollout(state, finished(first, 1, { status }), 2);
    noteRequested(state, { trajectory_id: first, attempt: 2 }, 2);
    foldRollout(state, finished(first, 2, { status }), 3);
    expect(nextSteps(state, 3, options)).toMatchObject([{ kind: 'score', attempt: 2, ending: { status } }]);
  });

  it('counts as tries neither cancelled attempts nor those from before the evaluation was continued', () => {
    const state = requestedAll();
    for (const attempt of [0, 1, 2, 3]) {
      noteRequested(state, { trajectory_id: first, attempt }, attempt);
      foldRollout(state, finished(first, attempt, { status: 'cancelled' }), attempt);
      expect(due(state, attempt)).toEqual([`request ${first}/${attempt + 1}`]);
    }
    noteRequested(state, { trajectory_id: first, attempt: 4 }, 4);
    foldRollout(state, finished(first, 4, { status: 'refused' }), 4);
    noteEarlier(state);
    expect(due(state, 4)).toEqual([`request ${first}/5`]);
    for (const attempt of [5, 6, 7]) {
      noteRequested(state, { trajectory_id: first, attempt }, attempt);
      foldRollout(state, finished(first, attempt, { status: 'failed' }), attempt);
    }
    expect(due(state, 8)).toEqual([`score ${first}/7`]);
  });

  it('requests no other attempt after one that the model refused permanently', () => {
    const state = requestedAll();
    foldRollout(state, finished(first, 0, { status: 'refused' }), 1);
    expect(nextSteps(state, 1, options)).toMatchObject([{ kind: 'score', attempt: 0, ending: { status: 'refused' } }]);
  });

  it.each(['answered', 'max_turns', 'max_tokens', 'timeout'])('counts an attempt that ended as %s', (status) => {
    const state = requestedAll();
    foldRollout(state, finished(first, 0, { status }), 1);
    expect(due(state, 1)).toEqual([`score ${first}/0`]);
  });

  it('gives up a started attempt without activity: its worker is silent, or does not list it', () => {
    const state = requestedAll();
    foldRollout(state, begun(first, 0), 0);
    foldRollout(state, heartbeat([[first, 0]]), 90);
    expect(due(state, 190)).toEqual([]);
    foldRollout(state, heartbeat([['other', 0]], { capacity: 1 }), 190);
    expect(due(state, 191)).toEqual([`request ${first}/1`]);
    noteRequested(state, { trajectory_id: first, attempt: 1 }, 191);
    foldRollout(state, turn(first, 1), 250);
    expect(due(state, 350)).toEqual([]);
    noteRequested(state, { trajectory_id: first, attempt: 2 }, 351);
    foldRollout(state, begun(first, 2), 351);
    expect(nextSteps(state, 452, options)).toMatchObject([{ kind: 'score', attempt: 2, ending: undefined }]);
  });

  it('does not repeat a request that only waits because workers are busy or there are none', () => {
    const state = requestedAll();
    expect(due(state, 10_000)).toEqual([]);
    for (let at = 0; at < 1_000; at += 50) foldRollout(state, heartbeat([['x', 0], ['y', 0]], { capacity: 2 }), at); // prettier-ignore
    expect(due(state, 1_000)).toEqual([]);
    for (let at = 1_000; at <= 1_100; at += 50) foldRollout(state, heartbeat([]), at);
    expect(due(state, 1_100)).toEqual([]);
    foldRollout(state, heartbeat([], { worker_id: 'busy', capacity: 0 }), 1_140);
    foldRollout(state, heartbeat([]), 1_150);
    expect(due(state, 1_150)).toEqual([]);
    foldRollout(state, heartbeat([]), 1_240);
    expect(due(state, 1_241)).toHaveLength(4);
  });

  it('repeats a request that waits although workers that take its tasks are idle, whatever other workers do', () => {
    const own = newEvaluation({ ...plan, addressee: 'e' });
    const ofRun = newEvaluation(plan);
    const ids = [...own.samples.keys()];
    for (const id of ids) for (const state of [own, ofRun]) noteRequested(state, { trajectory_id: id, attempt: 0 }, 0);
    const busy = [
      ['x', 0],
      ['y', 0],
    ] as const;
    for (let at = 0; at <= 200; at += 50) foldRollout(own, heartbeat([], { worker_id: 'of the run' }), at);
    for (let at = 0; at <= 200; at += 50) foldRollout(ofRun, heartbeat([], { worker_id: 'own', addressee: 'e' }), at);
    expect([due(own, 200), due(ofRun, 200)]).toEqual([[], []]);
    for (let at = 200; at <= 350; at += 50) {
      foldRollout(own, heartbeat(busy, { worker_id: 'of the run', capacity: 2 }), at);
      foldRollout(own, heartbeat([], { worker_id: 'own', addressee: 'e' }), at);
      foldRollout(ofRun, heartbeat(busy, { worker_id: 'own', addressee: 'e', capacity: 2 }), at);
      foldRollout(ofRun, heartbeat([], { worker_id: 'of the run' }), at);
    }
    expect([due(own, 350).length, due(ofRun, 350).length]).toEqual([4, 4]);
  });

  it('ignores events of other groups', () => {
    const state = requestedAll();
    noteRequested(state, { trajectory_id: 'train.0', attempt: 0 }, 0);
    noteScored(state, scoreOf('train.0'));
    foldRollout(state, finished('train.0', 0, { status: 'answered' }), 0);
    foldRollout(state, { type: 'QuestionAccepted', event: randomEvent('QuestionAccepted', seeded(1)) }, 0);
    expect(due(state, 1)).toEqual([]);
    expect(state.scored).toBe(0);
  });
});

type Happening = { readonly at: number; readonly id: number; readonly attempt: number; readonly kind: number };

describe('any history', () => {
  const happenings = fc.array(fc.record({ at: fc.nat(300), id: fc.nat(3), attempt: fc.nat(3), kind: fc.nat(7) }), { maxLength: 60 });

  function apply(state: EvaluationState, { id, attempt, kind }: Happening, nowMs: number): void {
    const trajectory = [...state.samples.keys()][id] ?? '';
    const statuses = ['answered', 'cancelled', 'failed', 'timeout'];
    if (kind < 4) foldRollout(state, finished(trajectory, attempt, { status: statuses[kind] ?? '' }), nowMs);
    else if (kind === 4) foldRollout(state, turn(trajectory, attempt), nowMs);
    else foldRollout(state, heartbeat(kind === 5 ? [[trajectory, attempt]] : [], kind === 7 ? { capacity: 0 } : {}), nowMs);
  }

  function obey(state: EvaluationState, steps: readonly EvaluationStep[], nowMs: number): void {
    for (const { kind, sample, attempt } of steps) {
      if (kind === 'request') noteRequested(state, { trajectory_id: sample.trajectoryId, attempt }, nowMs);
      else noteScored(state, scoreOf(sample.trajectoryId, { attempt }));
    }
  }

  it('ends with one score per sample, and requests no attempt twice and no more than allowed', () => {
    fc.assert(
      fc.property(happenings, (history) => {
        const state = newEvaluation(plan);
        const asked = new Set<string>();
        let nowMs = 0;
        const act = (): void => {
          const steps = nextSteps(state, nowMs, options);
          for (const { kind, sample, attempt } of steps) {
            // cancelled attempts do not count as tries, and the history has attempts up to 3
            expect(attempt).toBeLessThan(4 + options.maxAttempts);
            expect(asked.has(`${kind} ${sample.trajectoryId}/${attempt}`)).toBe(false);
            asked.add(`${kind} ${sample.trajectoryId}/${attempt}`);
          }
          obey(state, steps, nowMs);
          expect(new Set(steps.map(({ sample }) => sample)).size).toBe(steps.length);
        };
        for (const happening of history) {
          nowMs += happening.at;
          apply(state, happening, nowMs);
          act();
        }
        // From here on, workers are alive and idle, and lose everything that is requested.
        for (let round = 0; round < 60; round += 1) {
          nowMs += 50;
          foldRollout(state, heartbeat([], { worker_id: 'w' }), nowMs);
          act();
        }
        expect(isComplete(state)).toBe(true);
        expect(nextSteps(state, nowMs + 10_000, options)).toEqual([]);
      }),
    );
  });

  it('is the same when every record comes twice', () => {
    fc.assert(
      fc.property(happenings, (history) => {
        const [once, twice] = [requestedAll(), requestedAll()];
        let nowMs = 0;
        for (const happening of history) {
          nowMs += happening.at;
          apply(once, happening, nowMs);
          apply(twice, happening, nowMs);
          apply(twice, happening, nowMs);
        }
        expect(twice).toEqual(once);
      }),
    );
  });
});

describe('summarize', () => {
  it('averages over answers, and takes the best of each question for pass', () => {
    const scores = [
      scoreOf('a.0', { question_id: 'a', f1: 0.5, em: 0, cem: 1, reward: 0.25, turns: 2, tool_calls: 1 }),
      scoreOf('a.1', { question_id: 'a', f1: 1, em: 1, cem: 1, reward: 0.75, turns: 4, tool_calls: 3 }),
      scoreOf('b.0', { question_id: 'b', f1: 0, em: 0, cem: 0, reward: 0, turns: 6, tool_calls: 5 }),
    ];
    expect(summarize(scores)).toEqual({
      ...{ avg_f1: 0.5, avg_em: 1 / 3, avg_cem: 2 / 3, pass_f1: 0.5, pass_em: 0.5 },
      ...{ reward_mean: 1 / 3, turns_mean: 4, tool_calls_mean: 3 },
    });
    expect(Object.values(summarize([])).every((figure) => figure === 0)).toBe(true);
  });

  it('never has a lower score for the best than for the average', () => {
    const score = fc.record({ question_id: fc.constantFrom('a', 'b'), f1: fc.double({ min: 0, max: 1, noNaN: true }) });
    fc.assert(
      fc.property(fc.array(score, { minLength: 1 }), (parts) => {
        const perQuestion = [...new Set(parts.map((part) => part.question_id))].flatMap((id) => {
          const own = parts.filter((part) => part.question_id === id);
          return summarize(own.map((part) => scoreOf('x', part)));
        });
        for (const { avg_f1: average, pass_f1: best } of perQuestion) expect(best).toBeGreaterThanOrEqual(average - 1e-9);
      }),
    );
  });
});
