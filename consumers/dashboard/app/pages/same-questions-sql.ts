// Statements about the questions that several runs tried. The same attempts count as in the list of a run's questions: those with an answer
// or at a limit, each once, without evaluations. Means are rounded, so that the order of summation does not decide who won.

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;

function attemptsOf(runs: readonly string[]): string {
  const ofRuns = `run_id IN (${runs.map(quoted).join(', ')})`;
  return `FROM trajectories
  WHERE ${ofRuns} AND purpose != 'eval' AND status IN ('answered', 'max_turns', 'max_tokens', 'timeout')
    AND (run_id, _partition, _offset) NOT IN (SELECT run_id, _partition, _offset FROM repeated_attempts WHERE ${ofRuns})`;
}

/** A row for each other run: the number of questions that it and the first run tried, and how many the first run won and lost. */
export const wonSql = (first: string, others: readonly string[]): string => `SELECT
  run_id,
  count() AS questions,
  countIf(ours > theirs) AS won,
  countIf(ours < theirs) AS lost,
  avg(ours - theirs) AS difference
FROM (
  SELECT question_id, round(avg(reward), 6) AS ours
  ${attemptsOf([first])}
  GROUP BY question_id
) AS first_run
INNER JOIN (
  SELECT run_id, question_id, round(avg(reward), 6) AS theirs
  ${attemptsOf(others)}
  GROUP BY run_id, question_id
) AS other_runs USING (question_id)
GROUP BY run_id
ORDER BY run_id`;

/** The questions of both runs: those that the first one lost most clearly come first. */
export const questionsSql = (first: string, other: string): string => `SELECT
  question_id,
  text,
  ours,
  theirs,
  round(ours - theirs, 6) AS difference,
  our_tries,
  their_tries
FROM (
  SELECT question_id, any(question) AS text, round(avg(reward), 6) AS ours, count() AS our_tries
  ${attemptsOf([first])}
  GROUP BY question_id
) AS first_run
INNER JOIN (
  SELECT question_id, round(avg(reward), 6) AS theirs, count() AS their_tries
  ${attemptsOf([other])}
  GROUP BY question_id
) AS other_run USING (question_id)
ORDER BY difference, question_id
LIMIT 1000`;
