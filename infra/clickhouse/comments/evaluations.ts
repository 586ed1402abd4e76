// Questions, evaluations and dead letters.
import type { Comments } from './comments.ts';

export const evaluations: Comments = {
  // Questions
  split: 'train or heldout',
  hops: 'Facts that lead to the answer',
  kind: 'Kind of question',
  evidence_urls: 'URLs of the facts that lead to the answer, in order',
  evidence_titles: 'Titles of the pages of the facts, in order',
  evidence_facts: 'Facts that lead to the answer, in order',
  gates: 'Checks that the question went through, in order',
  gates_passed: 'Whether the question passed, in the order of gates',
  gate_details: 'What each check found, in the order of gates',
  history: 'Every edit of the question in order, JSON',

  // Evaluations
  questions: 'Questions',
  avg_f1: 'Mean F1 over all answers, 0 to 1',
  avg_em: 'Mean exact match over all answers, 0 to 1',
  avg_cem: 'Share of answers that contain a gold answer, 0 to 1',
  avg_judge: 'Share of answers that the judge takes for correct, 0 to 1',
  pass_f1: 'Mean over questions of the best F1, 0 to 1',
  pass_em: 'Share of questions with an exact match, 0 to 1',
  pass_cem: 'Share of questions with an answer that contains a gold answer, 0 to 1',
  pass_judge: 'Share of questions with an answer that the judge takes for correct, 0 to 1',
  judged: 'Answers that a judge was asked about',
  judge_invalid: 'Answers on which the judge gave no usable verdict',
  success_rate: 'Share of answers that the judge takes for correct, or without a judge that match exactly, 0 to 1',
  long_answers: 'Answers that took more than 30 turns',
  long_success_rate: 'Share of the long answers that succeed, 0 to 1; 0 without any',
  unanswered: 'Attempts that ended without an answer',
  completed_at: 'End, UTC, microseconds; 1970 when there is none yet',
  judge: 'Model that judged the answer; empty when none was asked',
  verdict: 'correct, incorrect or invalid; empty when no judge was asked',
  judge_reason: 'What the judge says for its verdict',
  judge_tries: 'Times that the judge was asked',

  // Dead letters
  original_topic: 'Kafka topic of the original record',
  original_partition: 'Kafka partition of the original record, from 0',
  original_offset: 'Kafka offset of the original record',
  original_timestamp: 'Time of the original record in Kafka, UTC, microseconds',
  has_key: 'Whether the original record has a key',
  original_key_base64: 'Key of the original record, base64',
  has_value: 'Whether the original record has a value',
  original_value_base64: 'Value of the original record, base64',
  original_value_bytes: 'Size of the value of the original record, bytes',
  header_names: 'Names of the headers of the original record',
  header_values_base64: 'Values of the headers in the order of header_names, base64',
};

const letter: Comments = {
  reason: 'Why the record could not be processed',
  error: 'Message of the failure',
};

export const evaluationsOf: Readonly<Record<string, Comments>> = {
  questions: {
    accepted: 'Whether the question passed every check',
    reason: 'Why the question was rejected; empty when it was accepted',
    history: 'Every edit of the question in order, JSON',
  },
  evaluation_results: {
    questions: 'Questions with an answer',
    answers: 'Answers that were scored',
    turns_mean: 'Mean turns of an answer',
    turns_max: 'Most turns of an answer',
    tool_calls_mean: 'Mean tool calls of an answer',
    tool_calls_max: 'Most tool calls of an answer',
    tokens_mean: 'Mean tokens of an answer, prompts and completions',
    tokens_max: 'Most tokens of an answer, prompts and completions',
  },
  evaluations: {
    status: 'running or completed',
    policy_version: 'Policy version that was evaluated',
  },
  evaluation_events: { policy_version: 'Policy version that was evaluated' },
  evaluation_scores: {
    status: 'How the attempt ended: answered, max_turns, max_tokens, timeout, cancelled, failed, refused or lost',
    tokens: 'Tokens of all prompts and completions of the attempt',
    judge: 'Model that judged the answer; empty when none was asked',
    verdict: 'correct, incorrect or invalid; empty when no judge was asked',
  },
  dead_letter_events: letter,
  dead_letters: letter,
};
