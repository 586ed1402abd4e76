-- Rewards that were attached to a trajectory after the fact, and with which of them its group was decided.
create table rewards (
  run_id LowCardinality(String),
  group_id String codec(ZSTD(1)),
  trajectory_id String codec(ZSTD(1)),
  attempt Int32,
  turn Int32,
  name LowCardinality(String),
  value Float64 codec(ZSTD(1)),
  source LowCardinality(String),
  identifier String codec(ZSTD(1)),
  event_id String codec(ZSTD(1)),
  occurred_at DateTime64(6, 'UTC') codec(Delta, ZSTD(1)),
  producer LowCardinality(String),
  _topic LowCardinality(String),
  _partition Int32,
  _offset Int64 codec(Delta, ZSTD(1)),
  _timestamp DateTime64(3, 'UTC') codec(Delta, ZSTD(1)),
  index rewards_trajectory trajectory_id type bloom_filter(0.001) granularity 1
) engine = MergeTree
partition by toYYYYMM(_timestamp)
order by (run_id, trajectory_id, attempt, turn, name)
settings non_replicated_deduplication_window = 10000;

create table counted_rewards (
  run_id LowCardinality(String),
  reward_names Array(String) codec(ZSTD(1)),
  group_ids Array(String) codec(ZSTD(1)),
  rollout_partitions Array(Int32) codec(ZSTD(1)),
  rollout_ends Array(Int64) codec(ZSTD(1)),
  sequence Int64,
  previous_sha256 String codec(ZSTD(1)),
  event_id String codec(ZSTD(1)),
  at DateTime64(6, 'UTC') codec(Delta, ZSTD(1)),
  producer LowCardinality(String),
  _topic LowCardinality(String),
  _partition Int32,
  _offset Int64 codec(Delta, ZSTD(1)),
  _timestamp DateTime64(3, 'UTC') codec(Delta, ZSTD(1))
) engine = MergeTree
partition by toYYYYMM(_timestamp)
order by (run_id, sequence)
settings non_replicated_deduplication_window = 10000;

-- Each reward once, with what became of it. It is in time when it lies before the offset that the ledger names for its group.
create view trajectory_rewards as
select
  given.run_id as run_id,
  given.group_id as group_id,
  given.trajectory_id as trajectory_id,
  given.attempt as attempt,
  given.turn as turn,
  given.name as name,
  given.value as value,
  given.source as source,
  given.identifier as identifier,
  given.occurred_at as occurred_at,
  toBool(given._offset < decided.rollout_end) as in_time,
  toBool(not in_time and (run_id, group_id) in (
    select run_id, group_id from step_trajectories where (run_id, group_id) in (select run_id, group_id from rewards)
    union all
    select run_id, group_id from collected_trajectories where (run_id, group_id) in (select run_id, group_id from rewards)
    union all
    select run_id, group_id from discarded_trajectories where (run_id, group_id) in (select run_id, group_id from rewards)
  )) as late,
  toBool(in_time and has(decided.reward_names, name) and (run_id, trajectory_id, attempt) in (
    select run_id, trajectory_id, attempt from step_trajectories where (run_id, group_id) in (select run_id, group_id from rewards)
    union all
    select run_id, trajectory_id, attempt from collected_trajectories where (run_id, group_id) in (select run_id, group_id from rewards)
  )) as counted,
  given.event_id as event_id,
  given.producer as producer,
  given._topic as _topic,
  given._partition as _partition,
  given._offset as _offset,
  given._timestamp as _timestamp
from (
  select *
  from rewards
  order by run_id, event_id, _partition, _offset
  limit 1 by run_id, event_id
) as given
left join (
  select
    run_id,
    counted_group as group_id,
    rollout_partition,
    argMax(end, sequence) as rollout_end,
    argMax(reward_names, sequence) as reward_names
  from counted_rewards
  array join group_ids as counted_group, rollout_partitions as rollout_partition, rollout_ends as end
  group by run_id, group_id, rollout_partition
) as decided
on given.run_id = decided.run_id and given.group_id = decided.group_id and given._partition = decided.rollout_partition;
