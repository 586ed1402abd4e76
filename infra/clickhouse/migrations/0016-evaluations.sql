-- Tokens under names with one meaning each, what an evaluation was of, results by level, the held-out score of every version of
-- a run, and what a step's trajectories were like beyond mean and extremes.

-- `tokens` is generated tokens in the tables of training and prompts and generated ones together in those of evaluations.
-- `prompt_tokens` and `generated_tokens` mean the same in every table.
alter table evaluation_scores
  add column prompt_tokens Int64 default -1 codec(T64, ZSTD(1)) after tokens,
  add column generated_tokens Int64 default -1 codec(T64, ZSTD(1)) after prompt_tokens,
  add column content_id String codec(ZSTD(1)) after question_id,
  add column level LowCardinality(String) after content_id,
  add column task_id String codec(ZSTD(1)) after level,
  add column attachment String codec(ZSTD(1)) after task_id;

alter table turns add column generated_tokens Int64 alias completion_tokens;
alter table trajectories add column generated_tokens Int64 alias completion_tokens;
alter table steps add column generated_tokens Int64 alias tokens;
alter table step_trajectories add column generated_tokens Int64 alias tokens;
alter table discarded_trajectories add column generated_tokens Int64 alias tokens;

alter table evaluation_events
  add column repeat Int32 codec(ZSTD(1)) after samples,
  add column subject String codec(ZSTD(3)) after repeat,
  add column left_out Int32 codec(ZSTD(1)) after subject;

create or replace view evaluations as
select
  run_id,
  evaluation_id,
  if(countIf(event = 'completed') > 0, 'completed', 'running') as status,
  any(evaluation_events.dataset) as dataset,
  any(evaluation_events.split) as split,
  any(evaluation_events.policy_version) as policy_version,
  anyIf(evaluation_events.decoding, event = 'started') as decoding,
  any(evaluation_events.questions) as questions,
  any(evaluation_events.samples) as samples,
  anyIf(evaluation_events.avg_f1, event = 'completed') as avg_f1,
  anyIf(evaluation_events.avg_em, event = 'completed') as avg_em,
  anyIf(evaluation_events.avg_cem, event = 'completed') as avg_cem,
  anyIf(evaluation_events.pass_f1, event = 'completed') as pass_f1,
  anyIf(evaluation_events.pass_em, event = 'completed') as pass_em,
  anyIf(evaluation_events.reward_mean, event = 'completed') as reward_mean,
  anyIf(evaluation_events.turns_mean, event = 'completed') as turns_mean,
  anyIf(evaluation_events.tool_calls_mean, event = 'completed') as tool_calls_mean,
  minIf(occurred_at, event = 'started') as started_at,
  maxIf(occurred_at, event = 'completed') as completed_at,
  anyIf(evaluation_events.repeat, event = 'started') as repeat,
  anyIf(evaluation_events.left_out, event = 'started') as left_out,
  anyIf(evaluation_events.subject, event = 'started') as subject
from evaluation_events
group by run_id, evaluation_id;

-- One row a question of an evaluation: sums over its answers and its best answer.
create view evaluation_questions as
select
  run_id,
  evaluation_id,
  question_id,
  any(of_level) as level,
  count() as answers,
  sum(f1) as f1_sum,
  sum(em) as em_sum,
  sum(cem) as cem_sum,
  countIf(verdict = 'correct') as judge_sum,
  max(f1) as f1_best,
  max(em) as em_best,
  max(cem) as cem_best,
  toFloat64(max(verdict = 'correct')) as judge_best,
  countIf(verdict != '') as judged,
  countIf(verdict = 'invalid') as judge_invalid,
  countIf(success) as successes,
  countIf(turns > 30) as long_answers,
  countIf(turns > 30 and success) as long_successes,
  sum(turns) as turns_sum,
  max(turns) as turns_max,
  sum(tool_calls) as tool_calls_sum,
  max(tool_calls) as tool_calls_max,
  sum(tokens) as tokens_sum,
  max(tokens) as tokens_max,
  countIf(generated_tokens >= 0) as counted,
  sumIf(prompt_tokens, generated_tokens >= 0) as prompt_tokens_sum,
  maxIf(prompt_tokens, generated_tokens >= 0) as prompt_tokens_max,
  sumIf(generated_tokens, generated_tokens >= 0) as generated_tokens_sum,
  maxIf(generated_tokens, generated_tokens >= 0) as generated_tokens_max,
  countIf(status != 'answered') as unanswered
from (
  select *, toString(level) as of_level, if(verdict = '', em = 1, verdict = 'correct') as success
  from evaluation_scores
  order by evaluation_id, trajectory_id, _topic, _partition, _offset
  limit 1 by evaluation_id, trajectory_id
)
group by run_id, evaluation_id, question_id;

-- Scores in 0..1. avg_*: over all answers; pass_*: over questions, of the best answer. *_low and *_high are the 95 % interval of
-- the mean over questions by the central limit theorem: answers to one question are no independent draws. An answer is a success
-- when the judge says so, or without a judge when it is an exact match; long ones took more than 30 turns.
create or replace view evaluation_results as
select
  run_id,
  evaluation_id,
  count() as questions,
  sum(q.answers) as answers,
  sum(f1_sum) / answers as avg_f1,
  sum(em_sum) / answers as avg_em,
  sum(cem_sum) / answers as avg_cem,
  sum(judge_sum) / answers as avg_judge,
  avg(f1_best) as pass_f1,
  avg(em_best) as pass_em,
  avg(cem_best) as pass_cem,
  avg(judge_best) as pass_judge,
  sum(q.judged) as judged,
  sum(q.judge_invalid) as judge_invalid,
  sum(successes) / answers as success_rate,
  sum(q.long_answers) as long_answers,
  ifNotFinite(sum(long_successes) / long_answers, 0) as long_success_rate,
  sum(turns_sum) / answers as turns_mean,
  max(q.turns_max) as turns_max,
  sum(tool_calls_sum) / answers as tool_calls_mean,
  max(q.tool_calls_max) as tool_calls_max,
  sum(tokens_sum) / answers as tokens_mean,
  max(q.tokens_max) as tokens_max,
  sum(q.unanswered) as unanswered,
  if(questions < 2, 0, greatest(0, avg(f1_sum / q.answers) - 1.959964 * stddevSamp(f1_sum / q.answers) / sqrt(questions))) as avg_f1_low,
  if(questions < 2, 1, least(1, avg(f1_sum / q.answers) + 1.959964 * stddevSamp(f1_sum / q.answers) / sqrt(questions))) as avg_f1_high,
  if(questions < 2, 0, greatest(0, avg(em_sum / q.answers) - 1.959964 * stddevSamp(em_sum / q.answers) / sqrt(questions))) as avg_em_low,
  if(questions < 2, 1, least(1, avg(em_sum / q.answers) + 1.959964 * stddevSamp(em_sum / q.answers) / sqrt(questions))) as avg_em_high,
  if(questions < 2, 0, greatest(0, avg(judge_sum / q.answers) - 1.959964 * stddevSamp(judge_sum / q.answers) / sqrt(questions))) as avg_judge_low,
  if(questions < 2, 1, least(1, avg(judge_sum / q.answers) + 1.959964 * stddevSamp(judge_sum / q.answers) / sqrt(questions))) as avg_judge_high,
  if(questions < 2, 0, greatest(0, pass_f1 - 1.959964 * stddevSamp(f1_best) / sqrt(questions))) as pass_f1_low,
  if(questions < 2, 1, least(1, pass_f1 + 1.959964 * stddevSamp(f1_best) / sqrt(questions))) as pass_f1_high,
  ifNotFinite(sum(prompt_tokens_sum) / sum(counted), 0) as prompt_tokens_mean,
  max(q.prompt_tokens_max) as prompt_tokens_max,
  ifNotFinite(sum(generated_tokens_sum) / sum(counted), 0) as generated_tokens_mean,
  max(q.generated_tokens_max) as generated_tokens_max
from evaluation_questions as q
group by run_id, evaluation_id;

-- The same by level, where the benchmark has levels.
create view evaluation_levels as
select
  run_id,
  evaluation_id,
  level,
  count() as questions,
  sum(q.answers) as answers,
  sum(f1_sum) / answers as avg_f1,
  if(questions < 2, 0, greatest(0, avg(f1_sum / q.answers) - 1.959964 * stddevSamp(f1_sum / q.answers) / sqrt(questions))) as avg_f1_low,
  if(questions < 2, 1, least(1, avg(f1_sum / q.answers) + 1.959964 * stddevSamp(f1_sum / q.answers) / sqrt(questions))) as avg_f1_high,
  sum(em_sum) / answers as avg_em,
  sum(cem_sum) / answers as avg_cem,
  sum(judge_sum) / answers as avg_judge,
  avg(f1_best) as pass_f1,
  avg(em_best) as pass_em,
  avg(judge_best) as pass_judge,
  sum(successes) / answers as success_rate,
  sum(turns_sum) / answers as turns_mean,
  sum(tool_calls_sum) / answers as tool_calls_mean,
  ifNotFinite(sum(prompt_tokens_sum) / sum(counted), 0) as prompt_tokens_mean,
  ifNotFinite(sum(generated_tokens_sum) / sum(counted), 0) as generated_tokens_mean,
  sum(q.unanswered) as unanswered
from evaluation_questions as q
group by run_id, evaluation_id, level
having level != '';

-- The held-out score of each version of a run: Avg@k over sampled answers, never greedy ones. Of several evaluations of a version
-- the one with the most answers counts, then the newest.
create view heldout as
select
  run_id,
  ended.policy_version as version,
  evaluation_id,
  ended.dataset as dataset,
  ended.samples as samples,
  results.questions as questions,
  results.answers as answers,
  results.avg_f1 as avg_f1,
  results.avg_f1_low as avg_f1_low,
  results.avg_f1_high as avg_f1_high,
  results.avg_em as avg_em,
  results.avg_em_low as avg_em_low,
  results.avg_em_high as avg_em_high,
  results.pass_f1 as pass_f1,
  results.pass_em as pass_em,
  results.success_rate as success_rate,
  results.turns_mean as turns_mean,
  results.tool_calls_mean as tool_calls_mean,
  results.prompt_tokens_mean as prompt_tokens_mean,
  results.generated_tokens_mean as generated_tokens_mean,
  ended.reward_mean as reward_mean,
  ended.completed_at as completed_at
from evaluation_results as results
inner join (
  select * from evaluations
  where status = 'completed' and split = 'heldout' and samples > 1 and policy_version >= 0
) as ended using (run_id, evaluation_id)
order by run_id, version, answers desc, completed_at desc
limit 1 by run_id, version;

-- What is in the middle of the trajectories that a step trained on, and the reward of all that finished: groups whose rewards are
-- all equal are never trained on, so that the mean of those that are says little of how well a policy does. What was discarded at
-- version v belongs to step v + 1; attempts that were given up or do not count are no part of it.
create view step_spreads as
select
  run_id,
  step,
  any(made_at) as at,
  countIf(is_kept) as trajectories,
  count() as finished,
  avg(one_reward) as reward_all_mean,
  quantileExactIf(0.25)(one_reward, is_kept) as reward_p25,
  quantileExactIf(0.5)(one_reward, is_kept) as reward_p50,
  quantileExactIf(0.75)(one_reward, is_kept) as reward_p75,
  quantileExactIf(0.25)(one_f1, is_kept) as f1_p25,
  quantileExactIf(0.5)(one_f1, is_kept) as f1_p50,
  quantileExactIf(0.75)(one_f1, is_kept) as f1_p75,
  quantileExactIf(0.25)(one_turns, is_kept) as turns_p25,
  quantileExactIf(0.5)(one_turns, is_kept) as turns_p50,
  quantileExactIf(0.75)(one_turns, is_kept) as turns_p75,
  quantileExactIf(0.25)(one_calls, is_kept) as tool_calls_p25,
  quantileExactIf(0.5)(one_calls, is_kept) as tool_calls_p50,
  quantileExactIf(0.75)(one_calls, is_kept) as tool_calls_p75,
  avgIf(one_prompt, is_kept) as prompt_tokens_mean,
  quantileExactIf(0.25)(one_prompt, is_kept) as prompt_tokens_p25,
  quantileExactIf(0.5)(one_prompt, is_kept) as prompt_tokens_p50,
  quantileExactIf(0.75)(one_prompt, is_kept) as prompt_tokens_p75,
  quantileExactIf(0.95)(one_prompt, is_kept) as prompt_tokens_p95,
  avgIf(one_tokens, is_kept) as generated_tokens_mean,
  quantileExactIf(0.25)(one_tokens, is_kept) as generated_tokens_p25,
  quantileExactIf(0.5)(one_tokens, is_kept) as generated_tokens_p50,
  quantileExactIf(0.75)(one_tokens, is_kept) as generated_tokens_p75,
  quantileExactIf(0.95)(one_tokens, is_kept) as generated_tokens_p95
from (
  select run_id, step, trajectory_id, attempt, is_kept, reward as one_reward, tokens as one_tokens, turns as one_turns
  from outcomes
  where reason not in ('lost', 'expired', 'invalid', 'superseded')
) as decided
any left join (
  select run_id, trajectory_id, attempt, f1 as one_f1, tool_calls as one_calls, prompt_tokens as one_prompt
  from trajectories
  where purpose = 'train'
) as ended using (run_id, trajectory_id, attempt)
inner join (
  select run_id, step, min(at) as made_at
  from steps
  group by run_id, step
) as made using (run_id, step)
group by run_id, step;
