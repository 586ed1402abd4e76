-- A record that the log holds twice is two rows of its table, since a table holds what the log holds. The views count it
-- once. Each `repeated_*` view lists the places of the rows that repeat an event: all but the first by partition and
-- offset. `(_partition, _offset) NOT IN (SELECT _partition, _offset FROM repeated_turns WHERE run_id = …)` leaves them out.

-- Repeats are rare: attempts that have any are found by two numbers, and only their rows are looked at.
create view repeated_turns as
select run_id, trajectory_id, attempt, record.1 as turn, record.2 as _partition, record.3 as _offset
from (
  select
    run_id, trajectory_id, attempt,
    arraySort(arrayDistinct(arrayZip(groupArray(turn), groupArray(_partition), groupArray(_offset)))) as records
  from turns
  group by run_id, trajectory_id, attempt
  having count() > uniqExact(turn)
)
array join arrayFilter((record, at) -> at > 1 and record.1 = records[at - 1].1, records, arrayEnumerate(records)) as record;

create view repeated_attempts as
select run_id, trajectory_id, attempt, place.1 as _partition, place.2 as _offset
from (
  select run_id, trajectory_id, attempt, arraySort(arrayDistinct(arrayZip(groupArray(_partition), groupArray(_offset)))) as places
  from trajectories
  group by run_id, trajectory_id, attempt
  having count() > 1
)
array join arrayPopFront(places) as place;

create view repeated_steps as
select run_id, step, place.1 as _partition, place.2 as _offset
from (
  select run_id, step, arraySort(arrayDistinct(arrayZip(groupArray(_partition), groupArray(_offset)))) as places
  from steps
  group by run_id, step
  having count() > 1
)
array join arrayPopFront(places) as place;

create view repeated_discards as
select run_id, trajectory_id, attempt, sequence, place.1 as _partition, place.2 as _offset
from (
  select
    run_id, trajectory_id, attempt, sequence,
    arraySort(arrayDistinct(arrayZip(groupArray(_partition), groupArray(_offset)))) as places
  from discarded_trajectories
  group by run_id, trajectory_id, attempt, sequence
  having count() > 1
)
array join arrayPopFront(places) as place;

-- Finished attempts that count, each once: the trainer takes these for an outcome, whatever their reward. One that was
-- cancelled (its worker stopped) or failed (its engine or its agent broke) says nothing about the policy.
create view counted_attempts as
select *
from trajectories
where status in ('answered', 'max_turns', 'max_tokens', 'timeout')
  and (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_attempts);

create or replace view tool_calls as
select
  run_id,
  group_id,
  trajectory_id,
  attempt,
  turn,
  purpose,
  worker_id,
  call_id,
  tool,
  tool_status as status,
  tool_error_type as error_type,
  tool_started_at as started_at,
  tool_ms as ms,
  tool_arguments as arguments,
  tool_result as result,
  tool_result_head as result_head,
  tool_result_chars as result_chars,
  tool_result_sha256 as result_sha256,
  tool_item_urls as item_urls,
  tool_item_titles as item_titles,
  truncated,
  cache_hit,
  policy_version_min,
  policy_version_max,
  occurred_at,
  _topic,
  _partition,
  _offset,
  _timestamp
from turns
where tool != ''
  and (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_turns);

create or replace view tool_health as
select
  run_id,
  tool,
  count() as calls,
  countIf(tool_status = 'ok') as ok,
  countIf(tool_status = 'error') as errors,
  countIf(tool_status = 'timeout') as timeouts,
  countIf(tool_status = 'refused') as refused,
  (count() - countIf(tool_status = 'ok')) / count() as failure_rate,
  countIf(cache_hit) as cache_hits,
  countIf(truncated) as truncated_results,
  avg(tool_ms) as ms_mean,
  quantile(0.5)(tool_ms) as ms_p50,
  quantile(0.95)(tool_ms) as ms_p95,
  quantile(0.99)(tool_ms) as ms_p99,
  max(tool_ms) as ms_max,
  avg(tool_result_chars) as result_chars_mean,
  topKIf(3)(tool_error_type, tool_error_type != '') as frequent_error_types,
  min(occurred_at) as first_at,
  max(occurred_at) as last_at
from turns
where tool != ''
  and (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_turns)
group by run_id, tool;

-- From a step to the trajectories that it trained on, their turns and their tool calls: a row a record, as above.
create view lineage_records as
select
  run_id,
  trained.step as step,
  trained.version_before as version_before,
  trained.version_after as version_after,
  trained.at as trained_at,
  trained.group_id as group_id,
  trajectory_id,
  attempt,
  trained.question_id as question_id,
  trained.reward as trajectory_reward,
  trained.advantage as advantage,
  trained.staleness_total as staleness_total,
  trained.staleness_in_flight as staleness_in_flight,
  trained.staleness_in_queue as staleness_in_queue,
  turns.turn as turn,
  turns.policy_version_min as policy_version_min,
  turns.policy_version_max as policy_version_max,
  turns.completion_tokens as completion_tokens,
  turns.tool as tool,
  turns.call_id as call_id,
  turns.tool_status as tool_status,
  turns.tool_error_type as tool_error_type,
  turns.tool_ms as tool_ms,
  turns.tool_arguments as tool_arguments,
  turns.tool_result_head as tool_result_head,
  turns.occurred_at as occurred_at,
  turns._topic as _topic,
  turns._partition as _partition,
  turns._offset as _offset
from turns
inner join (
  select *
  from step_trajectories
  where (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_steps)
) as trained using (run_id, trajectory_id, attempt);

create or replace view lineage as
select *
from lineage_records
where (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_turns);

create or replace view outcomes as
select
  run_id, step, true as is_kept, '' as reason, group_id, trajectory_id, attempt, question_id, reward, turns, tokens,
  staleness_total, staleness_in_flight, staleness_in_queue, staleness_worst, unknown_tokens, flight_ms, queue_ms, at, staleness_token_mean
from step_trajectories
where (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_steps)
union all
select
  run_id, toInt32(version + 1) as step, false as is_kept, reason, group_id, trajectory_id, attempt, question_id, reward, turns, tokens,
  staleness_total, staleness_in_flight, staleness_in_queue, staleness_worst, unknown_tokens, flight_ms, queue_ms, at, staleness_token_mean
from discarded_trajectories
where (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_discards);

-- What was trained and what was discarded, side by side. A trajectory discarded at version v competed for step v + 1.
create or replace view staleness_by_step as
select
  run_id,
  step,
  countIf(trained) as trajectories,
  ifNotFinite(avgIf(total, trained), 0) as staleness_mean,
  ifNotFinite(avgIf(in_flight, trained), 0) as staleness_in_flight_mean,
  ifNotFinite(avgIf(in_queue, trained), 0) as staleness_in_queue_mean,
  maxIf(worst, trained) as staleness_worst,
  ifNotFinite(sumIf(token_mean * known, trained) / sumIf(known, trained), 0) as staleness_token_mean,
  sumIf(unknown, trained) as unknown_tokens,
  sumIf(all_tokens, trained) as tokens,
  ifNotFinite(avgIf(turn_count, trained), 0) as turns_mean,
  ifNotFinite(avgIf(score, trained), 0) as reward_mean,
  ifNotFinite(avgIf(flight, trained), 0) as flight_ms_mean,
  ifNotFinite(avgIf(queue, trained), 0) as queue_ms_mean,
  countIf(not trained) as discarded,
  ifNotFinite(avgIf(total, not trained), 0) as discarded_staleness_mean,
  ifNotFinite(avgIf(in_flight, not trained), 0) as discarded_staleness_in_flight_mean,
  ifNotFinite(avgIf(in_queue, not trained), 0) as discarded_staleness_in_queue_mean,
  maxIf(worst, not trained) as discarded_staleness_worst,
  ifNotFinite(sumIf(token_mean * known, not trained) / sumIf(known, not trained), 0) as discarded_staleness_token_mean,
  sumIf(unknown, not trained) as discarded_unknown_tokens,
  sumIf(all_tokens, not trained) as discarded_tokens,
  ifNotFinite(avgIf(turn_count, not trained), 0) as discarded_turns_mean,
  ifNotFinite(avgIf(score, not trained), 0) as discarded_reward_mean,
  ifNotFinite(avgIf(flight, not trained), 0) as discarded_flight_ms_mean,
  ifNotFinite(avgIf(queue, not trained), 0) as discarded_queue_ms_mean
from (
  select
    run_id, step, is_kept as trained, staleness_total as total, staleness_in_flight as in_flight, staleness_in_queue as in_queue,
    staleness_worst as worst, staleness_token_mean as token_mean, unknown_tokens as unknown, tokens as all_tokens,
    greatest(tokens - unknown_tokens, 0) as known, turns as turn_count, reward as score, flight_ms as flight, queue_ms as queue
  from outcomes
)
group by run_id, step;

-- How a run goes, one row a step: means, extremes and 95th percentiles over the trajectories that the step trained on, and
-- what was discarded meanwhile. What was discarded at version v belongs to step v + 1. `steps` has more of the update itself.
create or replace view curves as
select
  run_id, step, at, trajectories, groups,
  reward_mean, reward_min, reward_max, reward_p95,
  f1_mean, f1_min, f1_max, f1_p95,
  em_mean, format_rate,
  turns_mean, turns_min, turns_max, turns_p95,
  tool_calls_mean, tool_calls_min, tool_calls_max, tool_calls_p95,
  searches_mean, searches_min, searches_max, searches_p95,
  accesses_mean, accesses_min, accesses_max, accesses_p95,
  tool_errors_mean,
  tokens_mean, tokens_min, tokens_max, tokens_p95,
  completion_tokens_mean, completion_tokens_min, completion_tokens_max, completion_tokens_p95,
  ifNull(lost, 0) as discarded,
  ifNull(lost_stale, 0) as discarded_stale,
  ifNull(lost_uniform, 0) as discarded_uniform,
  staleness_mean, staleness_p95, staleness_max, staleness_in_flight_mean, staleness_in_queue_mean,
  staleness_token_mean, staleness_token_p95, staleness_token_max, unknown_tokens,
  loss, entropy, approx_kl, behave_kl, clip_fraction, ess, grad_norm, wait_ms, train_ms
from (
  select
    run_id, step, at, groups, staleness_mean, staleness_p95, staleness_max, staleness_in_flight_mean, staleness_in_queue_mean,
    staleness_token_mean, staleness_token_p95, staleness_token_max, unknown_tokens, loss, entropy, approx_kl, behave_kl, clip_fraction, ess, grad_norm, wait_ms, train_ms
  from steps
  where (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_steps)
) as made
inner join (
  select
    run_id,
    step,
    count() as trajectories,
    avg(one_reward) as reward_mean, min(one_reward) as reward_min, max(one_reward) as reward_max, quantileExact(0.95)(one_reward) as reward_p95,
    avg(one_f1) as f1_mean, min(one_f1) as f1_min, max(one_f1) as f1_max, quantileExact(0.95)(one_f1) as f1_p95,
    avg(one_em) as em_mean,
    countIf(one_format) / count() as format_rate,
    avg(one_turns) as turns_mean, min(one_turns) as turns_min, max(one_turns) as turns_max, quantileExact(0.95)(one_turns) as turns_p95,
    avg(one_calls) as tool_calls_mean, min(one_calls) as tool_calls_min, max(one_calls) as tool_calls_max,
    quantileExact(0.95)(one_calls) as tool_calls_p95,
    avg(one_searches) as searches_mean, min(one_searches) as searches_min, max(one_searches) as searches_max,
    quantileExact(0.95)(one_searches) as searches_p95,
    avg(one_accesses) as accesses_mean, min(one_accesses) as accesses_min, max(one_accesses) as accesses_max,
    quantileExact(0.95)(one_accesses) as accesses_p95,
    avg(one_errors) as tool_errors_mean,
    avg(one_tokens) as tokens_mean, min(one_tokens) as tokens_min, max(one_tokens) as tokens_max,
    quantileExact(0.95)(one_tokens) as tokens_p95,
    avg(one_completion) as completion_tokens_mean, min(one_completion) as completion_tokens_min,
    max(one_completion) as completion_tokens_max, quantileExact(0.95)(one_completion) as completion_tokens_p95
  from (
    select run_id, step, trajectory_id, attempt, reward as one_reward, tokens as one_tokens, turns as one_turns
    from outcomes
    where is_kept
  ) as trained
  any left join (
    select
      run_id, trajectory_id, attempt, f1 as one_f1, em as one_em, format_ok as one_format, tool_calls as one_calls,
      tool_errors as one_errors, completion_tokens as one_completion
    from trajectories
    where purpose = 'train'
  ) as ended using (run_id, trajectory_id, attempt)
  left join (
    select
      run_id, trajectory_id, attempt,
      uniqExactIf(turn, tool = 'search') as one_searches,
      uniqExactIf(turn, tool = 'access') as one_accesses
    from turns
    where purpose = 'train'
    group by run_id, trajectory_id, attempt
  ) as called using (run_id, trajectory_id, attempt)
  group by run_id, step
) as seen using (run_id, step)
left join (
  select
    run_id,
    toInt32(version + 1) as step,
    count() as lost,
    countIf(reason = 'stale') as lost_stale,
    countIf(reason = 'uniform_group') as lost_uniform
  from discarded_trajectories
  where (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_discards)
  group by run_id, step
) as losses using (run_id, step);

-- A run is what has events. One that no trainer of turnstream wrote a ledger of is `recorded`: it has no settings and no steps.
create or replace view runs as
select
  run_id,
  if(events.is_ledger, events.status, 'recorded') as status,
  events.finish_reason as reason,
  events.dataset as dataset,
  events.algorithm as algorithm,
  events.backend as backend,
  events.learner as learner,
  events.seed as seed,
  events.group_size as group_size,
  events.batch_groups as batch_groups,
  events.max_staleness as max_staleness,
  events.max_concurrent as max_concurrent,
  events.max_attempts as max_attempts,
  events.stale_policy as stale_policy,
  events.planned_steps as planned_steps,
  progress.steps as steps,
  if(events.is_ledger, progress.version, -1) as version,
  if(events.is_ledger, progress.reward_mean, nan) as reward_mean,
  if(events.is_ledger, progress.reward_mean_first_20, nan) as reward_mean_first_20,
  if(events.is_ledger, progress.reward_mean_last_20, nan) as reward_mean_last_20,
  progress.trained as trained,
  losses.discarded as discarded,
  progress.tokens as tokens,
  if(events.is_ledger, progress.staleness_max, nan) as staleness_max,
  if(events.is_ledger, events.started_at, seen.first_at) as started_at,
  events.finished_at as finished_at,
  progress.last_step_at as last_step_at,
  seen.purposes as purposes,
  toBool(events.is_ledger) as is_trained,
  greatest(seen.last_at, events.last_at) as last_at
from (
  select
    run_id,
    arraySort(groupUniqArrayArray(told_purposes)) as purposes,
    min(told_first_at) as first_at,
    max(told_last_at) as last_at
  from (
    select run_id, arrayMap(one -> toString(one), groupUniqArray(purpose)) as told_purposes, min(occurred_at) as told_first_at, max(occurred_at) as told_last_at
    from tasks group by run_id
    union all
    select run_id, arrayMap(one -> toString(one), groupUniqArray(purpose)) as told_purposes, min(occurred_at) as told_first_at, max(occurred_at) as told_last_at
    from trajectory_starts group by run_id
    union all
    select run_id, arrayMap(one -> toString(one), groupUniqArray(purpose)) as told_purposes, min(occurred_at) as told_first_at, max(occurred_at) as told_last_at
    from trajectories group by run_id
    union all
    -- Turns are many: they are looked at only where nothing else was written of a run.
    select run_id, arrayMap(one -> toString(one), groupUniqArray(purpose)) as told_purposes, min(occurred_at) as told_first_at, max(occurred_at) as told_last_at
    from turns
    where run_id not in (select run_id from trajectory_starts) and run_id not in (select run_id from trajectories)
    group by run_id
    union all
    select run_id, ['eval'] as told_purposes, min(occurred_at) as told_first_at, max(occurred_at) as told_last_at
    from evaluation_events group by run_id
    union all
    select run_id, cast([], 'Array(String)') as told_purposes, min(at) as told_first_at, max(at) as told_last_at
    from run_events group by run_id
  )
  where run_id != ''
  group by run_id
) as seen
left join (
  select
    run_id,
    true as is_ledger,
    max(at) as last_at,
    if(argMax(event, sequence) = 'finished', 'finished', 'running') as status,
    argMaxIf(reason, sequence, event = 'finished') as finish_reason,
    anyIf(dataset, event = 'started') as dataset,
    anyIf(algorithm, event = 'started') as algorithm,
    anyIf(backend, event = 'started') as backend,
    anyIf(learner, event = 'started') as learner,
    anyIf(seed, event = 'started') as seed,
    anyIf(group_size, event = 'started') as group_size,
    anyIf(batch_groups, event = 'started') as batch_groups,
    anyIf(max_staleness, event = 'started') as max_staleness,
    anyIf(max_concurrent, event = 'started') as max_concurrent,
    anyIf(max_attempts, event = 'started') as max_attempts,
    anyIf(stale_policy, event = 'started') as stale_policy,
    argMaxIf(run_events.steps, sequence, event in ('started', 'continued')) as planned_steps,
    minIf(at, event = 'started') as started_at,
    maxIf(at, event = 'finished') as finished_at
  from run_events
  group by run_id
) as events using (run_id)
left join (
  select
    run_id,
    max(step) as steps,
    max(version_after) as version,
    argMax(reward_mean, step) as reward_mean,
    arrayAvg(arraySlice(arraySort(groupArray((step, steps.reward_mean))), 1, 20).2) as reward_mean_first_20,
    arrayAvg(arraySlice(arraySort(groupArray((step, steps.reward_mean))), -20).2) as reward_mean_last_20,
    sum(trajectories) as trained,
    sum(steps.tokens) as tokens,
    max(steps.staleness_max) as staleness_max,
    max(at) as last_step_at
  from steps
  where (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_steps)
  group by run_id
) as progress using (run_id)
left join (
  select run_id, count() as discarded
  from discarded_trajectories
  where (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_discards)
  group by run_id
) as losses using (run_id);
