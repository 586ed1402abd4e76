// Evaluates one policy version: requests answers through the log, from the workers of the run or from a worker that takes only the tasks of
// this evaluation, scores the answers, and records everything. All its state is in the log, so a second call with the same subject
// continues the first one or returns the recorded result, and reports that it did. An answer whose worker vanished, or that was cancelled
// or failed, is requested again; after the last attempt it counts as 0 with its status. With a judge, a score is recorded once there is a
// verdict. Delivery: at least once; events have identities, and recorded scores never change.
import type { EvaluationCompleted } from '../../schemas/generated/events.ts';
import { isPlatformError, messageOf, PlatformError } from '../../streams/core/errors.ts';
import type { Clock, EventReader, EventWriter, Following, LogReader, Logger, OutgoingEvent } from '../../streams/core/ports.ts';
import { createWake, type Wake } from '../../streams/core/waiting.ts';
import {
  isComplete,
  newEvaluation,
  nextSteps,
  noteEarlier,
  noteRequested,
  noteScored,
  type EvaluationState,
  type EvaluationStep,
} from '../../streams/evaluation/evaluation.ts';
import { REFUSED } from '../../streams/trajectory/attempt.ts';
import { createOutbox, type Outbox } from '../rollouts/worker/outbox.ts';
import {
  addresseeOf,
  completedEvent,
  evaluationIdOf,
  questionOf,
  requestEvent,
  scoredEvent,
  startedEvent,
  type EvaluationIdentity,
  type EvaluationSubject,
} from './evaluation-events.ts';
import { endOfRollouts, foldBatch, newestRepeat, readRequests, readRollouts, readScores, type EvaluationLog } from './evaluation-log.ts';
import type { Judge } from '../judge/judge.ts';
import { createJudging, type Judging } from './judging.ts';

export interface EvaluationProgress {
  readonly evaluationId: string;
  /** Scored answers, out of `total`. */
  readonly scored: number;
  readonly total: number;
}

/** What the log already held when the evaluation was requested. */
export interface TakenOver {
  readonly evaluationId: string;
  /** Recorded answers, out of `total`. */
  readonly scored: number;
  readonly total: number;
  readonly isComplete: boolean;
  /** When it was first requested, ms since 1970. */
  readonly begunAtMs: number;
}

export interface EvaluateOptions extends Omit<EvaluationSubject, 'judgeName' | 'hasOwnWorker' | 'repeat'> {
  /** Starts a worker that takes only tasks with this addressee, before any is requested. By default the workers of the run answer. */
  readonly startWorker?: (addressee: string) => Promise<void>;
  /** Judges every answer before its score is recorded; by default there is no judge. */
  readonly judge?: Judge;
  readonly writer: EventWriter;
  readonly reader: LogReader;
  readonly events: EventReader;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long an attempt may be silent before the next one is requested, ms. */
  readonly silenceMs: number;
  /** Maximum attempts per answer. */
  readonly maxAttempts: number;
  /** Role and id of the process, recorded in the events. */
  readonly producer?: string;
  /** Aborting it rejects the call; a later call continues the evaluation. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: EvaluationProgress) => void;
  /** Starts over, ignoring what is recorded. Later calls continue the latest repeat. */
  readonly again?: boolean;
  /** Called before anything is requested, if an earlier call has started the evaluation. */
  readonly onTakenOver?: (taken: TakenOver) => void;
  /** Called before a missing answer is scored as 0. Rejects if the policy does not work, e.g. its model is down: nothing is scored then. */
  readonly assertAnswering?: () => Promise<unknown>;
  /** First and longest wait between retries of an append, ms. */
  readonly retryMs?: readonly [number, number];
}

/** Resolves with the recorded result; waits as long as there are no workers. */
export async function evaluate(options: EvaluateOptions): Promise<EvaluationCompleted> {
  const { runId, questions, samples, reader, events, again = false } = options;
  const newest = await newestRepeat(reader, evaluationIdOf(subjectOf(options, 0)));
  const subject = subjectOf(options, newest < 0 ? 0 : again ? newest + 1 : newest);
  const evaluationId = evaluationIdOf(subject);
  const log: EvaluationLog = { evaluationId, runId, reader, events };
  const addressee = addresseeOf(subject, evaluationId);
  const state = newEvaluation({ evaluationId, questions: questions.map((question) => question.question_id), samples, addressee });
  const { begunAtMs, completed } = await readScores(log, state);
  if (begunAtMs !== undefined) {
    const [scored, total] = [state.scored, state.samples.size];
    options.onTakenOver?.({ evaluationId, scored, total, isComplete: completed !== undefined, begunAtMs });
  }
  if (completed !== undefined) return completed;
  await options.startWorker?.(addressee);
  const evaluation = new Evaluation({ options, subject, log, state });
  return evaluation.run(begunAtMs !== undefined);
}

/** Another judge makes another evaluation, and so does another kind of worker. */
const subjectOf = ({ judge, startWorker, ...subject }: EvaluateOptions, repeat: number): EvaluationSubject => ({
  ...subject,
  repeat,
  hasOwnWorker: startWorker !== undefined,
  ...(judge === undefined ? {} : { judgeName: judge.name }),
});

interface EvaluationParts {
  readonly options: EvaluateOptions;
  readonly subject: EvaluationSubject;
  readonly log: EvaluationLog;
  readonly state: EvaluationState;
}

class Evaluation {
  readonly #options: EvaluateOptions;
  readonly #subject: EvaluationSubject;
  readonly #log: EvaluationLog;
  readonly #state: EvaluationState;
  readonly #outbox: Outbox;
  readonly #judging: Judging;
  readonly #over = new AbortController();
  readonly #wake: Wake;
  #failure: { readonly error: unknown } | undefined;
  #hasTold = false;

  constructor({ options, subject, log, state }: EvaluationParts) {
    this.#options = options;
    this.#subject = subject;
    this.#log = log;
    this.#state = state;
    const { writer, logger, clock, retryMs } = options;
    this.#wake = createWake(clock);
    this.#outbox = createOutbox({ writer, logger, clock, ...(retryMs === undefined ? {} : { retryMs }) });
    this.#judging = createJudging({
      judge: options.judge,
      judgedOf: (step) => {
        const { question, answers } = questionOf(options, step.sample);
        return { question, golds: answers, answer: step.kind === 'score' ? (step.ending?.answer ?? '') : '' };
      },
      signal: this.#over.signal,
      onVerdict: () => {
        this.#wake.now();
      },
      onFailure: (error) => {
        this.#fail(error);
      },
    });
  }

  async run(begun: boolean): Promise<EvaluationCompleted> {
    const following = await this.#begin(begun);
    const onAbort = (): void => {
      this.#fail(this.#options.signal?.reason);
    };
    this.#options.signal?.addEventListener('abort', onAbort);
    try {
      if (this.#options.signal?.aborted === true) onAbort();
      await this.#finishAll();
      const scores = [...this.#state.samples.values()].flatMap(({ score }) => (score === undefined ? [] : [score]));
      const completed = completedEvent(this.#identity(), scores);
      await this.#write([{ type: 'EvaluationCompleted', key: completed.evaluation_id, event: completed }]);
      return completed;
    } finally {
      this.#over.abort();
      this.#options.signal?.removeEventListener('abort', onAbort);
      await following.close();
    }
  }

  /** Folds what the log already holds and follows the log from there. */
  async #begin(begun: boolean): Promise<Following> {
    const { reader, clock, logger } = this.#options;
    const now = (): number => clock.monotonic();
    if (begun) await readRequests(this.#log, this.#state, now);
    const from = begun ? await readRollouts(this.#log, this.#state, now) : await endOfRollouts(this.#log);
    noteEarlier(this.#state);
    const following = await reader.follow({
      topics: ['rollouts'],
      from,
      otherwise: 'first',
      onBatch: async (batch) => {
        await foldBatch(this.#log, this.#state, { batch, nowMs: now() });
        this.#wake.now();
      },
      onError: (error) => {
        if (isPlatformError(error) && error.retriable) logger.warn({ error: messageOf(error) }, 'rollouts cannot be followed; waiting');
        else this.#fail(error);
      },
    });
    if (begun) return following;
    const started = startedEvent(this.#identity());
    await this.#write([{ type: 'EvaluationStarted', key: started.evaluation_id, event: started }]);
    return following;
  }

  async #finishAll(): Promise<void> {
    const { clock, silenceMs, maxAttempts } = this.#options;
    const beganMs = clock.monotonic();
    this.#report();
    while (!isComplete(this.#state)) {
      this.#throwIfFailed();
      if (clock.monotonic() - beganMs > silenceMs) this.#tellOfNoWorkers();
      const steps = nextSteps(this.#state, clock.monotonic(), { silenceMs, maxAttempts }).filter((step) => this.#judging.readyFor(step));
      if (steps.length > 0) await this.#performIfAnswering(steps);
      else await this.#nextChange();
    }
    this.#throwIfFailed();
  }

  #tellOfNoWorkers(): void {
    if (this.#hasTold || this.#state.workers.size > 0) return;
    this.#hasTold = true;
    const { logger, runId: run } = this.#options;
    logger.warn(
      { run },
      'no worker that answers has sent a heartbeat: start one, or pass --concurrency to have a worker of this process answer',
    );
  }

  /** A model that is down or refuses is no reason to record zeros. */
  async #performIfAnswering(steps: readonly EvaluationStep[]): Promise<void> {
    const failed = steps.filter((step) => step.kind === 'score' && step.sample.winner === undefined);
    if (failed.length > 0) await this.#options.assertAnswering?.();
    for (const step of failed) {
      if (step.kind === 'score' && step.ending?.status === REFUSED) throw new PlatformError('MODEL_REFUSED', step.ending.error);
    }
    await this.#perform(steps);
  }

  async #perform(steps: readonly EvaluationStep[]): Promise<void> {
    const identity = this.#identity();
    const done: (() => void)[] = [];
    const events = steps.map((step): OutgoingEvent => {
      const { sample } = step;
      if (step.kind === 'request') {
        const event = requestEvent(identity, sample, step.attempt);
        done.push(() => {
          noteRequested(this.#state, event, this.#options.clock.monotonic());
        });
        return { type: 'TrajectoryRequested', key: sample.trajectoryId, event };
      }
      const event = scoredEvent(identity, sample, { ...step, verdict: this.#judging.verdictOn(step) });
      done.push(() => {
        noteScored(this.#state, event);
      });
      return { type: 'AnswerScored', key: event.evaluation_id, event };
    });
    await this.#write(events);
    for (const note of done) note();
    this.#report();
  }

  /** Resolves when the log has all events. */
  async #write(events: readonly OutgoingEvent[]): Promise<void> {
    const acks: Promise<void>[] = [];
    for (const event of events) acks.push((await this.#outbox.put(event, bytesOf(event))).acked);
    await Promise.all(acks);
  }

  /** Waits for the next batch or failure, but wakes often enough to notice silent attempts. */
  #nextChange(): Promise<void> {
    return this.#wake.wait(Math.max(10, Math.min(1_000, this.#options.silenceMs / 4)));
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#outbox.abandon(error);
    this.#wake.now();
  }

  #throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #report(): void {
    const { evaluationId } = this.#log;
    this.#options.onProgress?.({ evaluationId, scored: this.#state.scored, total: this.#state.samples.size });
  }

  #identity(): EvaluationIdentity {
    const { producer = 'evaluator', clock } = this.#options;
    return { subject: this.#subject, evaluationId: this.#log.evaluationId, producer, nowMs: clock.now() };
  }
}

/** Upper bound of an event's size, bytes; only its texts can be long. */
function bytesOf({ event }: OutgoingEvent): number {
  const texts = 'question' in event ? [event.question, ...('answers' in event ? [...event.answers, ...event.aug_answers] : [])] : [];
  return texts.reduce((sum, text) => sum + 3 * text.length, 1_000);
}
