-- Counts and sums that reports make of every turn and every attempt of a run. As projections they are part of each insert and of each
-- merge, so they always fit their table; a query that groups by their keys reads a few rows a policy version. The views below count
-- an event once: what repeats say is taken off again.

alter table tasks add projection by_purpose (
  select run_id, purpose, count(), min(occurred_at), max(occurred_at) group by run_id, purpose
);
alter table tasks materialize projection by_purpose;

alter table trajectory_starts add projection by_purpose (
  select run_id, purpose, count(), min(occurred_at), max(occurred_at) group by run_id, purpose
);
alter table trajectory_starts materialize projection by_purpose;

alter table trajectories add projection by_version (
  select
    run_id, purpose, status, version_first, count(), min(occurred_at), max(occurred_at), sum(reward), sum(turns), sum(tool_calls),
    sum(prompt_tokens), sum(completion_tokens), sum(dateDiff('millisecond', started_at, finished_at))
  group by run_id, purpose, status, version_first
);
alter table trajectories materialize projection by_version;

alter table discarded_trajectories add projection by_version (
  select run_id, version, reason, count() group by run_id, version, reason
);
alter table discarded_trajectories materialize projection by_version;

alter table turns add projection by_version (
  select
    run_id, purpose, policy_version_max, count(), min(occurred_at), max(occurred_at), sum(generation_ms), sum(generation_queue_ms),
    sum(generation_retry_ms), sum(tool_ms), sum(tool_queue_ms), sum(tool_retry_ms)
  group by run_id, purpose, policy_version_max
);
alter table turns materialize projection by_version;

create view turns_by_version as
select
  run_id, purpose, policy_version_max, sum(n) as turns, sum(generation) as generation_ms, sum(generation_queue) as generation_queue_ms,
  sum(generation_retry) as generation_retry_ms, sum(tool) as tool_ms, sum(tool_queue) as tool_queue_ms, sum(tool_retry) as tool_retry_ms
from (
  select
    run_id, purpose, policy_version_max, toInt64(count()) as n, sum(generation_ms) as generation,
    sum(generation_queue_ms) as generation_queue, sum(generation_retry_ms) as generation_retry, sum(tool_ms) as tool,
    sum(tool_queue_ms) as tool_queue, sum(tool_retry_ms) as tool_retry
  from turns
  group by run_id, purpose, policy_version_max
  union all
  select
    run_id, purpose, policy_version_max, -toInt64(count()) as n, -sum(generation_ms) as generation,
    -sum(generation_queue_ms) as generation_queue, -sum(generation_retry_ms) as generation_retry, -sum(tool_ms) as tool,
    -sum(tool_queue_ms) as tool_queue, -sum(tool_retry_ms) as tool_retry
  from turns
  where (run_id, trajectory_id, attempt, turn, _partition, _offset) in (
    select run_id, trajectory_id, attempt, turn, _partition, _offset from repeated_turns
  )
  group by run_id, purpose, policy_version_max
)
group by run_id, purpose, policy_version_max;

create view attempts_by_version as
select
  run_id, purpose, status, version_first, sum(n) as attempts, sum(rewards) as reward_sum, sum(all_turns) as turns,
  sum(calls) as tool_calls, sum(prompts) as prompt_tokens, sum(completions) as completion_tokens, sum(flight) as flight_ms
from (
  select
    run_id, purpose, status, version_first, toInt64(count()) as n, sum(reward) as rewards, toInt64(sum(trajectories.turns)) as all_turns,
    toInt64(sum(trajectories.tool_calls)) as calls, toInt64(sum(trajectories.prompt_tokens)) as prompts,
    toInt64(sum(trajectories.completion_tokens)) as completions, sum(dateDiff('millisecond', started_at, finished_at)) as flight
  from trajectories
  group by run_id, purpose, status, version_first
  union all
  select
    run_id, purpose, status, version_first, -toInt64(count()) as n, -sum(reward) as rewards, -toInt64(sum(trajectories.turns)) as all_turns,
    -toInt64(sum(trajectories.tool_calls)) as calls, -toInt64(sum(trajectories.prompt_tokens)) as prompts,
    -toInt64(sum(trajectories.completion_tokens)) as completions, -sum(dateDiff('millisecond', started_at, finished_at)) as flight
  from trajectories
  where (run_id, trajectory_id, attempt, _partition, _offset) in (
    select run_id, trajectory_id, attempt, _partition, _offset from repeated_attempts
  )
  group by run_id, purpose, status, version_first
)
group by run_id, purpose, status, version_first;

create view discards_by_version as
select run_id, version, reason, sum(n) as discarded
from (
  select run_id, version, reason, toInt64(count()) as n
  from discarded_trajectories
  group by run_id, version, reason
  union all
  select run_id, version, reason, -toInt64(count()) as n
  from discarded_trajectories
  where (run_id, trajectory_id, attempt, _partition, _offset) in (
    select run_id, trajectory_id, attempt, _partition, _offset from repeated_discards
  )
  group by run_id, version, reason
)
group by run_id, version, reason;

-- As before, by these sums.
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
    select run_id, [toString(purpose)] as told_purposes, min(occurred_at) as told_first_at, max(occurred_at) as told_last_at
    from tasks group by run_id, purpose
    union all
    select run_id, [toString(purpose)] as told_purposes, min(occurred_at) as told_first_at, max(occurred_at) as told_last_at
    from trajectory_starts group by run_id, purpose
    union all
    select run_id, [toString(purpose)] as told_purposes, min(occurred_at) as told_first_at, max(occurred_at) as told_last_at
    from trajectories group by run_id, purpose
    union all
    select run_id, [toString(purpose)] as told_purposes, min(occurred_at) as told_first_at, max(occurred_at) as told_last_at
    from turns group by run_id, purpose
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
  select run_id, sum(discards_by_version.discarded) as discarded
  from discards_by_version
  group by run_id
) as losses using (run_id);

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
    sum(discarded) as lost,
    sumIf(discarded, reason = 'stale') as lost_stale,
    sumIf(discarded, reason = 'uniform_group') as lost_uniform
  from discards_by_version
  group by run_id, step
) as losses using (run_id, step);
