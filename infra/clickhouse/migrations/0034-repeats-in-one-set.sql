-- As before, but repeats are found with one set of their keys. The set of offsets that was checked first made every statement read the
-- repeats a second time while it was planned, which took longer than the rest. The key of the table narrows what is read.
create or replace view attempts_by_version as
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

create or replace view discards_by_version as
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
