// The view `step_spreads` for the steps of a page, written out because a condition on its steps does not reach the trajectories.
import { stepsSql } from '../list-of-steps.ts';

const PAGE = 'run_id = {run_id_is:String} and step >= {page_first:Int32} and step <= {page_last:Int32}';

/** Completed steps with an outcome that the spreads include. */
export const spreadSteps = `(
  select run_id, step from steps
  where (run_id, step) in (select run_id, step from ${stepsSql} where reason not in ('lost', 'expired', 'invalid', 'superseded'))
)`;

/** One row per step from `page_first` to `page_last` of a run. */
export const spreadsSql = `(
  select
    {run_id_is:String} as run_id,
    step,
    any(made_at) as at,
    countIf(was_trained) as trajectories,
    count() as finished,
    avg(one_reward) as reward_all_mean,
    quantileExactIf(0.25)(one_reward, was_trained) as reward_p25,
    quantileExactIf(0.5)(one_reward, was_trained) as reward_p50,
    quantileExactIf(0.75)(one_reward, was_trained) as reward_p75,
    quantileExactIf(0.25)(one_f1, was_trained) as f1_p25,
    quantileExactIf(0.5)(one_f1, was_trained) as f1_p50,
    quantileExactIf(0.75)(one_f1, was_trained) as f1_p75,
    quantileExactIf(0.25)(one_turns, was_trained) as turns_p25,
    quantileExactIf(0.5)(one_turns, was_trained) as turns_p50,
    quantileExactIf(0.75)(one_turns, was_trained) as turns_p75,
    quantileExactIf(0.25)(one_calls, was_trained) as tool_calls_p25,
    quantileExactIf(0.5)(one_calls, was_trained) as tool_calls_p50,
    quantileExactIf(0.75)(one_calls, was_trained) as tool_calls_p75,
    avgIf(one_prompt, was_trained) as prompt_tokens_mean,
    quantileExactIf(0.25)(one_prompt, was_trained) as prompt_tokens_p25,
    quantileExactIf(0.5)(one_prompt, was_trained) as prompt_tokens_p50,
    quantileExactIf(0.75)(one_prompt, was_trained) as prompt_tokens_p75,
    quantileExactIf(0.95)(one_prompt, was_trained) as prompt_tokens_p95,
    avgIf(one_tokens, was_trained) as generated_tokens_mean,
    quantileExactIf(0.25)(one_tokens, was_trained) as generated_tokens_p25,
    quantileExactIf(0.5)(one_tokens, was_trained) as generated_tokens_p50,
    quantileExactIf(0.75)(one_tokens, was_trained) as generated_tokens_p75,
    quantileExactIf(0.95)(one_tokens, was_trained) as generated_tokens_p95
  from (
    select step, trajectory_id, attempt, was_trained, reward as one_reward, tokens as one_tokens, turns as one_turns
    from outcomes
    where ${PAGE} and reason not in ('lost', 'expired', 'invalid', 'superseded')
  ) as decided
  any left join (
    select trajectory_id, attempt, f1 as one_f1, tool_calls as one_calls, prompt_tokens as one_prompt
    from trajectories
    where run_id = {run_id_is:String} and purpose = 'train' and (trajectory_id, attempt) in (select trajectory_id, attempt from outcomes where ${PAGE})
  ) as ended using (trajectory_id, attempt)
  inner join (
    select step, min(at) as made_at
    from steps
    where ${PAGE}
    group by step
  ) as made using (step)
  group by step
)`;
