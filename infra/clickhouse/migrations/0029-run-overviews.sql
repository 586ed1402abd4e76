-- Runs without the number of discarded trajectories, which takes a fourth of the time of the view `runs`. Steps are read in order of their
-- key, each once, instead of comparing them with a set of repeats.
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
  if(events.is_ledger, progress.version, -1) as version,
  if(events.is_ledger, progress.reward_mean, nan) as reward_mean,
  if(events.is_ledger, progress.reward_mean_first_20, nan) as reward_mean_first_20,
  if(events.is_ledger, progress.reward_mean_last_20, nan) as reward_mean_last_20,
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
    argMax(reward_mean, step) as reward_mean,
    arrayAvg(arraySlice(arraySort(groupArray((step, steps.reward_mean))), 1, 20).2) as reward_mean_first_20,
    arrayAvg(arraySlice(arraySort(groupArray((step, steps.reward_mean))), -20).2) as reward_mean_last_20,
    sum(trajectories) as trained,
    sum(steps.tokens) as tokens,
    max(steps.staleness_max) as staleness_max,
    max(at) as last_step_at
  from (
    select run_id, step, version_after, reward_mean, trajectories, tokens, staleness_max, at
    from steps
    order by run_id, step, _partition, _offset
    limit 1 by run_id, step
  ) as steps
  group by run_id
) as progress using (run_id);

create view run_discards as
select run_id, sum(n) as discarded
from (
  select run_id, toInt64(count()) as n from discarded_trajectories group by run_id
  union all
  select run_id, -toInt64(count()) as n from repeated_discards group by run_id
)
group by run_id;

create or replace view runs as
select
  overviews.run_id as run_id,
  overviews.status as status,
  overviews.reason as reason,
  overviews.dataset as dataset,
  overviews.algorithm as algorithm,
  overviews.backend as backend,
  overviews.learner as learner,
  overviews.seed as seed,
  overviews.group_size as group_size,
  overviews.batch_groups as batch_groups,
  overviews.max_staleness as max_staleness,
  overviews.max_concurrent as max_concurrent,
  overviews.max_attempts as max_attempts,
  overviews.stale_policy as stale_policy,
  overviews.planned_steps as planned_steps,
  overviews.steps as steps,
  overviews.version as version,
  overviews.reward_mean as reward_mean,
  overviews.reward_mean_first_20 as reward_mean_first_20,
  overviews.reward_mean_last_20 as reward_mean_last_20,
  overviews.trained as trained,
  losses.discarded as discarded,
  overviews.tokens as tokens,
  overviews.staleness_max as staleness_max,
  overviews.started_at as started_at,
  overviews.finished_at as finished_at,
  overviews.last_step_at as last_step_at,
  overviews.purposes as purposes,
  overviews.is_trained as is_trained,
  overviews.last_at as last_at
from run_overviews as overviews
left join run_discards as losses using (run_id);
