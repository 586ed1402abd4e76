// Differences between two runs: one statement around its parts, which the API reads in parallel.

/** Settings and results. */
const entriesOfRuns = `  SELECT run_id, entry.1 AS kind, entry.2 AS name, entry.3 AS value
  FROM runs
  ARRAY JOIN arrayConcat(
    [
      ('setting', 'dataset', toString(dataset)), ('setting', 'algorithm', toString(algorithm)), ('setting', 'backend', toString(backend)),
      ('setting', 'seed', toString(seed)), ('setting', 'group_size', toString(group_size)), ('setting', 'batch_groups', toString(batch_groups)),
      ('setting', 'max_staleness', toString(max_staleness)), ('setting', 'max_concurrent', toString(max_concurrent)),
      ('setting', 'max_attempts', toString(max_attempts)), ('setting', 'stale_policy', toString(stale_policy)),
      ('setting', 'planned_steps', toString(planned_steps)), ('result', 'steps', toString(steps)),
      ('result', 'reward_mean_first_20', toString(round(reward_mean_first_20, 4))),
      ('result', 'reward_mean_last_20', toString(round(reward_mean_last_20, 4))), ('result', 'trained', toString(trained)),
      ('result', 'discarded', toString(discarded)), ('result', 'tokens', toString(tokens)),
      ('result', 'staleness_max', toString(staleness_max)),
      ('result', 'seconds_per_step', toString(round(dateDiff('millisecond', started_at, last_step_at) / 1000 / nullIf(steps, 0), 3)))
    ],
    arrayMap(pair -> ('learner', pair.1, pair.2), JSONExtractKeysAndValuesRaw(learner))
  ) AS entry
  WHERE run_id IN ({run:String}, {other:String})`;

/** Figures of the rollouts, by purpose. */
const entriesOfRollouts = `  SELECT run_id, 'rollouts' AS kind, concat(purpose, ' ', figure.1) AS name, figure.2 AS value
  FROM (
    SELECT
      run_id, purpose, sum(attempts_by_version.attempts) AS attempts, sum(reward_sum) / attempts AS reward_mean,
      sum(turns) / attempts AS turns_mean, sum(completion_tokens) / attempts AS tokens_mean
    FROM attempts_by_version
    WHERE run_id IN ({run:String}, {other:String}) AND status IN ('answered', 'max_turns', 'max_tokens', 'timeout')
    GROUP BY run_id, purpose
  )
  ARRAY JOIN [
    ('attempts', toString(attempts)), ('reward_mean', toString(round(reward_mean, 4))),
    ('turns_mean', toString(round(turns_mean, 2))), ('tokens_mean', toString(round(tokens_mean, 1)))
  ] AS figure`;

/** Statements with a row for each setting or result of a run. */
export const comparedEntries = [entriesOfRuns, entriesOfRollouts];

/** The statement that compares the given entries. */
export const comparing = (entries: readonly string[]): string => `SELECT
  kind,
  name,
  anyIf(value, run_id = {run:String}) AS this_run,
  anyIf(value, run_id = {other:String}) AS other_run,
  toBool(this_run != other_run) AS differs
FROM (
${entries.join('\n  UNION ALL\n')}
)
GROUP BY kind, name
ORDER BY differs DESC, kind DESC, name`;
