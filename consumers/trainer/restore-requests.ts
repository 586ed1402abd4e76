// Restores requests that the ledger mentions but `tasks` no longer holds because retention or an operator deleted them. An admission in the
// ledger has enough data to rebuild its requests, so that their groups are not forgotten. No worker can take a request that is not in the
// log: the trainer gives such an attempt up, with an event, and requests the next one.
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import { LOST } from '../../streams/group/group.ts';
import { foldTask, isCollected } from '../../streams/run/fold.ts';
import type { AdmittedGroup, RunState } from '../../streams/run/run-state.ts';
import { groupRequests, requestEventId } from '../../streams/trainer/entries.ts';
import type { AskedQuestion, TrainingQuestions } from '../../streams/trainer/training-questions.ts';
import type { RunSettings } from '../../streams/trainer/run-settings.ts';

export interface RestoreContext {
  readonly producer: string;
  readonly settings: RunSettings;
  readonly questions: TrainingQuestions;
}

/** Folds the requests into a state that has read the ledger and the tasks to their ends; returns their number. */
export function restoreRequests(state: RunState, context: RestoreContext): number {
  let restored = 0;
  for (const [groupId, admitted] of state.admitted) {
    const known = state.groups.get(groupId)?.trajectories;
    if ((known?.size ?? 0) >= admitted.samples) continue;
    for (const request of requestsOf(state, admitted, context)) {
      if (known?.has(request.trajectory_id) === true) continue;
      foldTask(state, request, LOST);
      restored += 1;
    }
  }
  return restored;
}

/** The original requests of a group, each as the newest attempt in the ledger. */
function requestsOf(state: RunState, admitted: AdmittedGroup, context: RestoreContext): readonly TrajectoryRequested[] {
  const { order, samples, version, attempts } = admitted;
  const settings = { ...context.settings, groupSize: samples };
  const question = questionOf(context.questions, admitted);
  const given = { ...context, runId: state.runId, settings, version, collected: isCollected(state), now: 0 };
  return groupRequests(given, order, question).map((request) => {
    const attempt = attempts.get(request.trajectory_id) ?? 0;
    return { ...request, attempt, event_id: requestEventId(request.trajectory_id, attempt) };
  });
}

/** With an empty text when the question no longer exists: it cannot be requested again. */
const questionOf = (questions: TrainingQuestions, { questionId }: AdmittedGroup): AskedQuestion =>
  questions.find(questionId) ?? { question_id: questionId, question: '', answers: [], aug_answers: [] };
