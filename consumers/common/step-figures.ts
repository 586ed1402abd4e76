// Figures about the trajectories of a step. The warehouse stores them in `step_figures` for steps whose trajectories and turns are all
// stored; the API computes the others. Both use the same statement, which reads only the attempts of these steps.

/** Columns of `step_figures` besides run and step. */
export const figureColumns = [
  'trajectories',
  ...['reward', 'f1'].flatMap((name) => [`${name}_mean`, `${name}_min`, `${name}_max`, `${name}_p95`]),
  ...['em_mean', 'format_rate'],
  ...['turns', 'tool_calls', 'searches', 'accesses'].flatMap((name) => [`${name}_mean`, `${name}_min`, `${name}_max`, `${name}_p95`]),
  'tool_errors_mean',
  ...['tokens', 'completion_tokens'].flatMap((name) => [`${name}_mean`, `${name}_min`, `${name}_max`, `${name}_p95`]),
] as const;

const spread = (name: string, of: string): string =>
  `avg(${of}) as ${name}_mean, min(${of}) as ${name}_min, max(${of}) as ${name}_max, quantileExact(0.95)(${of}) as ${name}_p95`;

/** Condition on the steps of a range, bound as `run`, `from_step` and `to_step`. */
export const STEPS_OF_RANGE = 'run_id = {run:String} and step >= {from_step:Int32} and step <= {to_step:Int32}';
const ATTEMPTS = `run_id = {run:String} and purpose = 'train'
    and (trajectory_id, attempt) in (select trajectory_id, attempt from step_trajectories where ${STEPS_OF_RANGE})`;

/**
 * One row per step from `from_step` to `to_step` of `run`. `is_whole` means that every trajectory and turn of the step is stored. A row
 * that the log holds twice counts once.
 */
export const stepFiguresSql = `
  select
    step,
    count() as trajectories,
    ${spread('reward', 'one_reward')},
    ${spread('f1', 'one_f1')},
    avg(one_em) as em_mean,
    countIf(one_format) / count() as format_rate,
    ${spread('turns', 'one_turns')},
    ${spread('tool_calls', 'one_calls')},
    ${spread('searches', 'one_searches')},
    ${spread('accesses', 'one_accesses')},
    avg(one_errors) as tool_errors_mean,
    ${spread('tokens', 'one_tokens')},
    ${spread('completion_tokens', 'one_completion')},
    countIf(is_stored = 0 or stored_turns < all_turns) = 0 as is_whole
  from (
    select step, trajectory_id, attempt, reward as one_reward, tokens as one_tokens, turns as one_turns
    from step_trajectories
    where ${STEPS_OF_RANGE}
    limit 1 by step, trajectory_id, attempt
  ) as trained
  left join (
    select
      trajectory_id, attempt, f1 as one_f1, em as one_em, format_ok as one_format, tool_calls as one_calls, tool_errors as one_errors,
      completion_tokens as one_completion, turns as all_turns, 1 as is_stored
    from trajectories
    where ${ATTEMPTS}
    limit 1 by trajectory_id, attempt
  ) as ended using (trajectory_id, attempt)
  left join (
    select
      trajectory_id,
      attempt,
      uniqExactIf(turn, tool = 'search') as one_searches,
      uniqExactIf(turn, tool = 'access') as one_accesses,
      uniqExact(turn) as stored_turns
    from turns
    where ${ATTEMPTS}
    group by trajectory_id, attempt
  ) as called using (trajectory_id, attempt)
  group by step
  order by step`;
