// The statement that compares two runs, and its parts, which the API reads in parallel.

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

/** Figures of the rollouts and what a point of reward costs, by purpose. */
const entriesOfRollouts = `  SELECT run_id, figure.1 AS kind, concat(purpose, ' ', figure.2) AS name, figure.3 AS value
  FROM (
    SELECT
      run_id, purpose, sum(attempts_by_version.attempts) AS attempts, sum(reward_sum) AS points, points / attempts AS reward_mean,
      sum(turns) / attempts AS turns_mean, sum(completion_tokens) / attempts AS tokens_mean,
      sum(prompt_tokens) / nullIf(points, 0) AS prompt_tokens_per_reward,
      sum(completion_tokens) / nullIf(points, 0) AS completion_tokens_per_reward,
      sum(tool_calls) / nullIf(points, 0) AS tool_calls_per_reward, sum(flight_ms) / 1000 / nullIf(points, 0) AS seconds_per_reward
    FROM attempts_by_version
    WHERE run_id IN ({run:String}, {other:String}) AND status IN ('answered', 'max_turns', 'max_tokens', 'timeout')
    GROUP BY run_id, purpose
  )
  ARRAY JOIN [
    ('rollouts', 'attempts', toString(attempts)), ('rollouts', 'reward_mean', toString(round(reward_mean, 4))),
    ('rollouts', 'turns_mean', toString(round(turns_mean, 2))), ('rollouts', 'tokens_mean', toString(round(tokens_mean, 1))),
    ('cost', 'prompt_tokens_per_reward', ifNull(toString(round(prompt_tokens_per_reward, 1)), '')),
    ('cost', 'completion_tokens_per_reward', ifNull(toString(round(completion_tokens_per_reward, 1)), '')),
    ('cost', 'tool_calls_per_reward', ifNull(toString(round(tool_calls_per_reward, 2)), '')),
    ('cost', 'seconds_per_reward', ifNull(toString(round(seconds_per_reward, 2)), ''))
  ] AS figure`;

/** Statements with a row for each setting or result of a run. */
export const comparedEntries = [entriesOfRuns, entriesOfRollouts];

/** The statement that compares the given entries. */
export const comparing = (entries: readonly string[]): string => `SELECT
  kind,
  name,
  ifNull(anyIf(value, run_id = {run:String}), '') AS this_run,
  ifNull(anyIf(value, run_id = {other:String}), '') AS other_run,
  toBool(this_run != other_run) AS differs
FROM (
${entries.join('\n  UNION ALL\n')}
)
GROUP BY kind, name
ORDER BY differs DESC, kind DESC, name`;
