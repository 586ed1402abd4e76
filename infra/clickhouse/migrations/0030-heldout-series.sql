-- A series compares versions of a policy only if all of them were evaluated in the same way: on the dataset that the run trains on, with
-- equal numbers of samples and questions, and equal decoding, reward, seed, limits and settings. Of several such ways, one with several
-- samples per question comes first, then the one with the most versions, then the newest. What older builds did not record counts as equal.
create view heldout_evaluations as
with own as (
  select run_id, anyIf(run_events.dataset, event = 'started') as trained_on from run_events group by run_id
), candidates as (
  select
    evaluations.*,
    toString((evaluations.dataset, samples, decoding, JSONExtractRaw(subject, 'protocol'))) as protocol
  from evaluations left join own using (run_id)
  where status = 'completed' and split = 'heldout' and (trained_on = '' or trained_on = evaluations.dataset)
), protocols as (
  select run_id, protocol, any(samples) > 1 as is_sampled, uniqExact(policy_version) as versions, max(completed_at) as newest
  from candidates group by run_id, protocol
), chosen as (
  select run_id, argMax(protocol, (is_sampled, versions, newest)) as protocol from protocols group by run_id
)
select
  run_id,
  evaluation_id,
  policy_version,
  dataset,
  samples,
  questions,
  reward_mean,
  completed_at
from candidates inner join chosen using (run_id, protocol)
order by run_id, policy_version, questions desc, completed_at desc
limit 1 by run_id, policy_version;

create or replace view heldout as
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
inner join (select * from heldout_evaluations where samples > 1 and policy_version >= 0) as ended using (run_id, evaluation_id)
order by run_id, version;
