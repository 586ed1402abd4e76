// Attempts that were given up, checked against observations from outside: each cause in turn, in a run with one attempt.
import { describe, expect, it } from 'vitest';
import type { DecodedEvent } from '../../../schemas/codec.ts';
import { randomEvent, seeded } from '../../testing/events.ts';
import type { StrikeSpan, Witness } from './check-needless.ts';
import type { EndPart, LogFact, RolloutFact, RunFacts } from './facts.ts';
import { judgeRun } from './oracle.ts';
import { createTimeline } from './timeline.ts';

const ATTEMPT = { group_id: 'run-a-g0', trajectory_id: 'run-a-g0.0', attempt: 0 } as const;
const NAME = `${ATTEMPT.trajectory_id}/0`;
const GIVEN_UP_MS = 60_000;
const random = seeded(5);

/** Each topic gets one record per ms in partition 0: offsets are times. */
const timeline = createTimeline();
for (const topic of ['rollouts', 'training'] as const)
  for (let ms = 0; ms <= 200_000; ms += 100) timeline.look(topic, 0, { sinceMs: ms - 100, atMs: ms, end: ms });

const heartbeatAt = (offset: number) => ({ partition: 0, offset, worker: 'w-0', running: [NAME] });
const recordAt = (offset: number, part: RolloutFact['part'] = { kind: 'started' }): RolloutFact => ({
  ...{ partition: 0, offset, sha256: String(offset), group: ATTEMPT.group_id, trajectory: ATTEMPT.trajectory_id },
  ...{ attempt: 0, sequence: part.kind === 'started' ? 0 : 1, worker: 'w-0', part },
});
const fact = (offset: number, read: DecodedEvent): LogFact => ({ partition: 0, offset, sha256: '', read });
const expiredFor = (reason: string): LogFact =>
  fact(GIVEN_UP_MS, {
    type: 'TrajectoryExpired',
    event: { ...randomEvent('TrajectoryExpired', random), ...ATTEMPT, reason, next_attempt: 1 },
  });
const request: LogFact = fact(0, {
  type: 'TrajectoryRequested',
  event: { ...randomEvent('TrajectoryRequested', random), ...ATTEMPT, max_wall_ms: 30_000 },
});

interface AttemptStory {
  readonly reason?: string;
  readonly records?: readonly RolloutFact[];
  readonly heartbeats?: readonly number[];
  readonly strikes?: readonly StrikeSpan[];
  readonly gone?: RunFacts['gone'];
}

function judged({ reason = 'silent', records = [recordAt(50_000)], heartbeats = [], strikes = [], gone = [] }: AttemptStory) {
  const facts: RunFacts = {
    ...{ training: [expiredFor(reason)], tasks: [request], policies: [], rollouts: records, gone },
    heartbeats: heartbeats.map(heartbeatAt),
  };
  const witness: Witness = { timeline, strikes, silenceMs: 6_000, heartbeatMs: 1_000 };
  const { needless, found } = judgeRun(facts, witness);
  const [cause] = Object.entries(needless.expiries).filter(([, count]) => count > 0);
  return { cause: cause?.[0], needless: found.needless ?? 0 };
}

const alive = [51_000, 55_000, 59_000, 61_000, 70_000];
const hung = [51_000, 75_000];
const cancelled: EndPart = {
  ...{ kind: 'finished', status: 'cancelled', reward: 0, f1: 0, em: 0, formatOk: false },
  ...{ turns: 0, toolCalls: 0, tokens: 0, flightMs: 0 },
};
const strike = (kind: string, target: string, [fromMs, toMs]: readonly [number, number]): StrikeSpan => ({ kind, target, fromMs, toMs });
const killed = strike('kill', 'worker', [55_500, 55_500]);

describe('an attempt that was given up', () => {
  it.each<readonly [string, AttemptStory]>([
    ['while its heartbeats were in the log', { heartbeats: alive }],
    ['long after its last sign of life, although no fault hit its worker', { heartbeats: hung }],
    ['because the clock of its worker had jumped', { heartbeats: alive, strikes: [strike('clock', 'worker', [40_000, 65_000])] }],
    ['because a fault hit its worker for a moment', { heartbeats: alive, strikes: [strike('freeze', 'worker', [57_000, 59_000])] }],
    ['because a fault hit its worker long ago', { heartbeats: alive, strikes: [strike('freeze', 'worker', [10_000, 30_000])] }],
    ['because a fault hit the trainer', { heartbeats: alive, strikes: [strike('freeze', 'trainer', [30_000, 60_000])] }],
    [
      'before a killed broker was back, although the heartbeats of its worker were in the log',
      { heartbeats: alive, strikes: [strike('kill', 'broker', [57_000, 57_000])] },
    ],
    ['as out of time, before its time was over', { reason: 'wall_clock', heartbeats: alive }],
    ['and did not continue, although no fault hit its worker', { heartbeats: [51_000, 55_000] }],
    [
      'and did not continue, but had shown signs of life after a worker was killed',
      { records: [recordAt(30_000)], heartbeats: [40_000, 41_000], strikes: [strike('kill', 'worker', [32_000, 32_000])] },
    ],
    ['as a lost claim, although no fault hit its worker', { reason: 'lost_claim', records: [] }],
    ['before it began', { reason: 'lost_claim', records: [recordAt(65_000)] }],
    [
      'as a lost claim, long after a broker was killed',
      { reason: 'lost_claim', records: [], strikes: [strike('kill', 'broker', [40_000, 40_000])] },
    ],
    [
      'as a lost claim, long after its worker was killed',
      { reason: 'lost_claim', records: [], strikes: [strike('kill', 'worker', [40_000, 40_000])] },
    ],
    [
      'as a lost claim, long after the trainer was killed',
      { reason: 'lost_claim', records: [], strikes: [strike('kill', 'trainer', [50_000, 50_000])] },
    ],
  ])('counts as given up in vain: %s', (_why, story) => {
    expect(judged(story)).toEqual({ cause: 'needless', needless: 1 });
  });

  it.each<readonly [string, string, AttemptStory]>([
    ['its worker has died', 'died', { heartbeats: [51_000, 55_000], strikes: [killed] }],
    [
      'its worker has died, and that was noticed late',
      'died',
      { records: [recordAt(30_000)], heartbeats: [31_000], strikes: [strike('kill', 'worker', [31_500, 31_500])] },
    ],
    ['its claim was lost', 'died', { reason: 'lost_claim', records: [], strikes: [killed] }],
    ['it had ended badly', 'broken', { reason: 'unusable', records: [recordAt(50_000), recordAt(51_000, cancelled)], heartbeats: alive }],
    ['its worker was frozen', 'struck', { heartbeats: hung, strikes: [strike('freeze', 'worker', [51_000, 74_000])] }],
    ['its worker was cut off', 'struck', { heartbeats: hung, strikes: [strike('cut', 'worker', [52_000, 58_000])] }],
    [
      'a broker went down with the answer to its claim',
      'struck',
      { reason: 'lost_claim', records: [], strikes: [strike('kill', 'broker', [52_000, 52_000])] },
    ],
    [
      'a broker went down with the answer to its claim, and the trainer restarted before it noticed',
      'struck',
      {
        reason: 'lost_claim',
        records: [],
        strikes: [strike('kill', 'broker', [40_000, 40_000]), strike('kill', 'trainer', [50_000, 50_000])],
      },
    ],
    [
      'its worker was killed with its claim, and the trainer was cut off before it noticed',
      'struck',
      {
        reason: 'lost_claim',
        records: [],
        strikes: [strike('kill', 'worker', [40_000, 40_000]), strike('cut', 'trainer', [49_000, 53_500])],
      },
    ],
    ['its time was over', 'overdue', { reason: 'wall_clock', records: [recordAt(20_000)], heartbeats: alive }],
  ])('does not count as given up in vain: %s', (_why, cause, story) => {
    expect(judged(story)).toEqual({ cause, needless: 0 });
  });

  it('counts as needless after an outage of the log, in a separate count', () => {
    expect(judged({ heartbeats: hung, strikes: [strike('freeze', 'broker', [52_000, 59_500])] })).toEqual({ cause: 'outage', needless: 1 });
  });

  it('does not count if the log had lost its records', () => {
    const ranges = [{ partition: 0, from: 50_000, to: 50_001 }];
    const gone: RunFacts['gone'] = [{ how: 'cut', topic: 'rollouts', ledgerEnd: 0, ranges, tasks: [], rollouts: [recordAt(50_000)] }];
    expect(judged({ heartbeats: alive, gone })).toEqual({ cause: 'struck', needless: 0 });
  });
});
