// Requests that the ledger tells of and `tasks` no longer holds: retention, or an operator, deleted them. What the ledger
// says of an admission is enough to make its requests again, so that their groups are not forgotten. Nobody can take a
// request that is not in the log: the trainer gives such an attempt up, with an event, and asks for the next one.
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import { LOST } from '../../streams/group/group.ts';
import { foldTask } from '../../streams/run/fold.ts';
import type { AdmittedGroup, RunState } from '../../streams/run/run-state.ts';
import { groupRequests, requestEventId } from './entries.ts';
import type { AskedQuestion, TrainingQuestions } from './questions.ts';
import type { RunSettings } from './settings.ts';

export interface RestoreContext {
  readonly producer: string;
  readonly settings: RunSettings;
  readonly questions: TrainingQuestions;
}

/** Folds them into a state that has read the ledger and the tasks to their ends; answers how many there are. */
export function restoreRequests(state: RunState, context: RestoreContext): number {
  let restored = 0;
  for (const [groupId, admitted] of state.admitted) {
    const known = state.groups.get(groupId)?.trajectories;
    if ((known?.size ?? 0) >= admitted.samples) continue;
    for (const request of requestsOf(state.runId, admitted, context)) {
      if (known?.has(request.trajectory_id) === true) continue;
      foldTask(state, request, LOST);
      restored += 1;
    }
  }
  return restored;
}

/** The requests of a group as they were, each as the newest attempt that the ledger tells of. */
function requestsOf(runId: string, admitted: AdmittedGroup, context: RestoreContext): readonly TrajectoryRequested[] {
  const { order, samples, version, attempts } = admitted;
  const settings = { ...context.settings, groupSize: samples };
  const question = questionOf(context.questions, admitted);
  return groupRequests({ ...context, runId, settings, version, now: 0 }, order, question).map((request) => {
    const attempt = attempts.get(request.trajectory_id) ?? 0;
    return { ...request, attempt, event_id: requestEventId(request.trajectory_id, attempt) };
  });
}

/** Without a text when the question is no longer there: then it cannot be asked again. */
const questionOf = (questions: TrainingQuestions, { questionId }: AdmittedGroup): AskedQuestion =>
  questions.find(questionId) ?? { question_id: questionId, question: '', answers: [], aug_answers: [] };
