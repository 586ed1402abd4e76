-- Trajectories of steps that a rewind abandoned count as discarded with the reason `rewound`. Their rows stay in step_trajectories.
-- `was_trained` is true for them. The set of abandoned versions is tiny, and usually empty.
create or replace view outcomes as
select
  run_id, step, toBool((run_id, step) not in (select run_id, version from abandoned_versions)) as is_kept,
  if(is_kept, '', 'rewound') as reason, group_id, trajectory_id, attempt, question_id, reward, turns, tokens, staleness_total,
  staleness_in_flight, staleness_in_queue, staleness_worst, unknown_tokens, flight_ms, queue_ms, at, staleness_token_mean,
  true as was_trained
from step_trajectories
where (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_steps)
union all
select
  run_id, toInt32(version + 1) as step, false as is_kept, reason, group_id, trajectory_id, attempt, question_id, reward, turns, tokens,
  staleness_total, staleness_in_flight, staleness_in_queue, staleness_worst, unknown_tokens, flight_ms, queue_ms, at,
  staleness_token_mean, false as was_trained
from discarded_trajectories
where (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_discards);

-- As before, with the reason of abandoned steps.
create or replace view selection_bias_by_reason as
select
  run_id, reason, kept, kept_reward_mean, kept_reward_p50, kept_reward_p95, kept_turns_mean, kept_turns_p50, kept_turns_p95,
  kept_tokens_mean, kept_tokens_p50, kept_tokens_p95, kept_staleness_mean, kept_flight_ms_mean, discarded, discarded_reward_mean,
  discarded_reward_p50, discarded_reward_p95, discarded_turns_mean, discarded_turns_p50, discarded_turns_p95,
  discarded_tokens_mean, discarded_tokens_p50, discarded_tokens_p95, discarded_staleness_mean, discarded_flight_ms_mean,
  if(kept = 0 or discarded = 0, null, arrayMax(
    (value, next, below, rank) -> if(value = next, 0., abs(below / kept - (rank - below) / discarded)),
    reward_sorted.1, arrayPushBack(arrayPopFront(reward_sorted.1), nan), arrayCumSum(reward_sorted.2), arrayEnumerate(reward_sorted)
  )) as reward_ks,
  if(kept = 0 or discarded = 0, null, arrayMax(
    (value, next, below, rank) -> if(value = next, 0., abs(below / kept - (rank - below) / discarded)),
    turns_sorted.1, arrayPushBack(arrayPopFront(turns_sorted.1), nan), arrayCumSum(turns_sorted.2), arrayEnumerate(turns_sorted)
  )) as turns_ks,
  if(kept = 0 or discarded = 0, null, arrayMax(
    (value, next, below, rank) -> if(value = next, 0., abs(below / kept - (rank - below) / discarded)),
    tokens_sorted.1, arrayPushBack(arrayPopFront(tokens_sorted.1), nan), arrayCumSum(tokens_sorted.2), arrayEnumerate(tokens_sorted)
  )) as tokens_ks
from (
  select
    run_id,
    reason,
    countIf(is_kept) as kept,
    avgOrNullIf(reward, is_kept) as kept_reward_mean,
    if(kept = 0, null, quantileExactInclusiveIf(0.5)(reward, is_kept)) as kept_reward_p50,
    if(kept = 0, null, quantileExactInclusiveIf(0.95)(reward, is_kept)) as kept_reward_p95,
    avgOrNullIf(turns, is_kept) as kept_turns_mean,
    if(kept = 0, null, quantileExactInclusiveIf(0.5)(turns, is_kept)) as kept_turns_p50,
    if(kept = 0, null, quantileExactInclusiveIf(0.95)(turns, is_kept)) as kept_turns_p95,
    avgOrNullIf(tokens, is_kept) as kept_tokens_mean,
    if(kept = 0, null, quantileExactInclusiveIf(0.5)(tokens, is_kept)) as kept_tokens_p50,
    if(kept = 0, null, quantileExactInclusiveIf(0.95)(tokens, is_kept)) as kept_tokens_p95,
    avgOrNullIf(staleness_total, is_kept) as kept_staleness_mean,
    avgOrNullIf(flight_ms, is_kept) as kept_flight_ms_mean,
    countIf(not is_kept) as discarded,
    avgOrNullIf(reward, not is_kept) as discarded_reward_mean,
    if(discarded = 0, null, quantileExactInclusiveIf(0.5)(reward, not is_kept)) as discarded_reward_p50,
    if(discarded = 0, null, quantileExactInclusiveIf(0.95)(reward, not is_kept)) as discarded_reward_p95,
    avgOrNullIf(turns, not is_kept) as discarded_turns_mean,
    if(discarded = 0, null, quantileExactInclusiveIf(0.5)(turns, not is_kept)) as discarded_turns_p50,
    if(discarded = 0, null, quantileExactInclusiveIf(0.95)(turns, not is_kept)) as discarded_turns_p95,
    avgOrNullIf(tokens, not is_kept) as discarded_tokens_mean,
    if(discarded = 0, null, quantileExactInclusiveIf(0.5)(tokens, not is_kept)) as discarded_tokens_p50,
    if(discarded = 0, null, quantileExactInclusiveIf(0.95)(tokens, not is_kept)) as discarded_tokens_p95,
    avgOrNullIf(staleness_total, not is_kept) as discarded_staleness_mean,
    avgOrNullIf(flight_ms, not is_kept) as discarded_flight_ms_mean,
    arraySort(groupArray((toFloat64(reward), toUInt8(is_kept)))) as reward_sorted,
    arraySort(groupArray((toFloat64(turns), toUInt8(is_kept)))) as turns_sorted,
    arraySort(groupArray((toFloat64(tokens), toUInt8(is_kept)))) as tokens_sorted
  from (
    select run_id, reason, is_kept, reward, turns, tokens, staleness_total, flight_ms from outcomes where not is_kept
    union all
    select outcomes.run_id, reasons.reason, is_kept, reward, turns, tokens, staleness_total, flight_ms
    from outcomes
    inner join (
      select distinct run_id, reason from discarded_trajectories
      union distinct
      select run_id, 'rewound' as reason from steps where (run_id, step) in (select run_id, version from abandoned_versions)
    ) as reasons using (run_id)
    where is_kept
  )
  group by run_id, reason
);

-- As before: what each step trained on, also if a rewind abandoned the step.
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
    where was_trained
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

create or replace view step_spreads as
select
  run_id,
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
  select run_id, step, trajectory_id, attempt, was_trained, reward as one_reward, tokens as one_tokens, turns as one_turns
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

-- As before, but the trajectories of abandoned steps are discarded, the version and the reward are those after the newest rewind, and a
-- collected run has the version of its model and the reward of its newest batch.
create or replace view run_overviews as
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
  multiIf(not events.is_ledger, -1, events.backend = 'none', kept.next_version - 1, greatest(progress.version, rewound.version)) as version,
  multiIf(not events.is_ledger, nan, events.backend = 'none', if(kept.batches = 0, nan, kept.reward_mean), progress.reward_mean) as reward_mean,
  if(events.is_ledger and events.backend != 'none', progress.reward_mean_first_20, nan) as reward_mean_first_20,
  if(events.is_ledger and events.backend != 'none', progress.reward_mean_last_20, nan) as reward_mean_last_20,
  progress.trained as trained,
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
    argMaxIf(steps.reward_mean, step, is_kept) as reward_mean,
    arrayAvg(arraySlice(arraySort(groupArray((step, steps.reward_mean))), 1, 20).2) as reward_mean_first_20,
    arrayAvg(arraySlice(arraySort(groupArray((step, steps.reward_mean))), -20).2) as reward_mean_last_20,
    sumIf(trajectories, is_kept) as trained,
    sumIf(steps.tokens, is_kept) as tokens,
    max(steps.staleness_max) as staleness_max,
    max(at) as last_step_at
  from (
    select
      run_id, step, version_after, reward_mean, trajectories, tokens, staleness_max, at,
      (run_id, step) not in (select run_id, version from abandoned_versions) as is_kept
    from steps
    order by run_id, step, _partition, _offset
    limit 1 by run_id, step
  ) as steps
  group by run_id
) as progress using (run_id)
left join (
  select run_id, count() as batches, max(version) + 1 as next_version, argMax(reward_mean, batch) as reward_mean
  from batches
  group by run_id
) as kept using (run_id)
left join (
  select run_id, max(rewinds.version) as version
  from rewinds
  group by run_id
) as rewound using (run_id);

create or replace view run_discards as
select run_id, sum(n) as discarded
from (
  select run_id, toInt64(count()) as n from discarded_trajectories group by run_id
  union all
  select run_id, -toInt64(count()) as n from repeated_discards group by run_id
  union all
  select run_id, toInt64(sum(trajectories)) as n
  from (
    select run_id, step, trajectories
    from steps
    where (run_id, step) in (select run_id, version from abandoned_versions)
    order by run_id, step, _partition, _offset
    limit 1 by run_id, step
  )
  group by run_id
)
group by run_id;

-- Rows that are leased with their trajectories, but must not be trained on.
alter table leases
  add column untrainable Array(Int32) codec(ZSTD(1)) after bytes;
