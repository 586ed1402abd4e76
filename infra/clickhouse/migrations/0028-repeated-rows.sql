-- The warehouse names the rows that repeat an event instead of the attempts that have some, so that the `repeated_*` views need not read
-- all rows of these attempts. As before, the views look at the attempts with rows behind the marks themselves. The marks start anew.

create table repeated_rows (
  table_name LowCardinality(String) comment 'Table that has the repeats: turns, trajectories, discarded_trajectories',
  run_id LowCardinality(String) comment 'Slug of the run',
  trajectory_id String comment 'Id of the trajectory',
  attempt Int32 comment 'Attempt of the trajectory, from 0',
  turn Int32 comment 'Turn of the attempt, from 0; 0 in other tables than turns',
  sequence Int64 comment 'Sequence of the ledger entry; 0 in other tables than discarded_trajectories',
  _partition Int32 comment 'Partition of the row that repeats an event',
  _offset Int64 comment 'Offset of the row that repeats an event',
  purpose LowCardinality(String) comment 'This and the following are columns of a turn, which sums take off: what the attempt was for',
  policy_version_max Int32 comment 'Newest version that generated a token of the turn; -1 unknown',
  generation_ms Float64 comment 'Duration of the generation, ms',
  generation_queue_ms Float32 comment 'Part of it in the queue of the worker, ms',
  generation_retry_ms Float32 comment 'Part of it in failed requests and their pauses, ms',
  tool_ms Float64 comment 'Duration of the tool call, ms',
  tool_queue_ms Float32 comment 'Part of it in the queue of the worker, ms',
  tool_retry_ms Float32 comment 'Part of it in failed calls and their pauses, ms'
) engine = ReplacingMergeTree
order by (table_name, run_id, _partition, _offset)
settings non_replicated_deduplication_window = 10000;

truncate table repeat_marks;
drop table if exists repeated_keys;

-- Finds the rows behind the marks without reading the others.
alter table turns add index turns_place (_partition, _offset) type minmax granularity 16;
alter table turns materialize index turns_place;
alter table trajectories add index trajectories_place (_partition, _offset) type minmax granularity 16;
alter table trajectories materialize index trajectories_place;
alter table discarded_trajectories add index discarded_place (_partition, _offset) type minmax granularity 16;
alter table discarded_trajectories materialize index discarded_place;

-- `least` and `most` say the same as the marks, in a form that an index can use; a partition between others may have no mark yet.
create or replace view repeated_turns as
with (
  select groupArray((partition, offset)) from (
    select partition, max(offset) as offset from repeat_marks where table_name = 'turns' group by partition
  )
) as marks, if(arrayMax(marks.1) + 1 = length(marks), arrayMin(marks.2), 0) as least, arrayMax(marks.1) as most
select distinct
  run_id, trajectory_id, attempt, turn, _partition, _offset, purpose, policy_version_max, generation_ms, generation_queue_ms,
  generation_retry_ms, tool_ms, tool_queue_ms, tool_retry_ms
from (
  select
    run_id, trajectory_id, attempt, turn, _partition, _offset, purpose, policy_version_max, generation_ms, generation_queue_ms,
    generation_retry_ms, tool_ms, tool_queue_ms, tool_retry_ms
  from repeated_rows where table_name = 'turns'
  union all
  select
    run_id, trajectory_id, attempt, record.1 as turn, record.2 as _partition, record.3 as _offset, record.4 as purpose,
    record.5 as policy_version_max, record.6 as generation_ms, record.7 as generation_queue_ms, record.8 as generation_retry_ms,
    record.9 as tool_ms, record.10 as tool_queue_ms, record.11 as tool_retry_ms
  from (
    select
      run_id, trajectory_id, attempt,
      arraySort(arrayDistinct(groupArray((
        turn, _partition, _offset, purpose, policy_version_max, generation_ms, generation_queue_ms, generation_retry_ms, tool_ms,
        tool_queue_ms, tool_retry_ms
      )))) as records
    from turns
    where (run_id, trajectory_id, attempt) in (
      select run_id, trajectory_id, attempt from turns
      where (_offset >= least or _partition > most) and _offset >= transform(_partition, marks.1, marks.2, toInt64(0))
    )
    group by run_id, trajectory_id, attempt
    having count() > uniqExact(turn)
  )
  array join arrayFilter((record, at) -> at > 1 and record.1 = records[at - 1].1, records, arrayEnumerate(records)) as record
);

create or replace view repeated_attempts as
with (
  select groupArray((partition, offset)) from (
    select partition, max(offset) as offset from repeat_marks where table_name = 'trajectories' group by partition
  )
) as marks, if(arrayMax(marks.1) + 1 = length(marks), arrayMin(marks.2), 0) as least, arrayMax(marks.1) as most
select distinct run_id, trajectory_id, attempt, _partition, _offset
from (
  select run_id, trajectory_id, attempt, _partition, _offset from repeated_rows where table_name = 'trajectories'
  union all
  select run_id, trajectory_id, attempt, place.1 as _partition, place.2 as _offset
  from (
    select run_id, trajectory_id, attempt, arraySort(arrayDistinct(arrayZip(groupArray(_partition), groupArray(_offset)))) as places
    from trajectories
    where (run_id, trajectory_id, attempt) in (
      select run_id, trajectory_id, attempt from trajectories
      where (_offset >= least or _partition > most) and _offset >= transform(_partition, marks.1, marks.2, toInt64(0))
    )
    group by run_id, trajectory_id, attempt
    having count() > 1
  )
  array join arrayPopFront(places) as place
);

create or replace view repeated_discards as
with (
  select groupArray((partition, offset)) from (
    select partition, max(offset) as offset from repeat_marks where table_name = 'discarded_trajectories' group by partition
  )
) as marks, if(arrayMax(marks.1) + 1 = length(marks), arrayMin(marks.2), 0) as least, arrayMax(marks.1) as most
select distinct run_id, trajectory_id, attempt, sequence, _partition, _offset
from (
  select run_id, trajectory_id, attempt, sequence, _partition, _offset from repeated_rows where table_name = 'discarded_trajectories'
  union all
  select run_id, trajectory_id, attempt, sequence, place.1 as _partition, place.2 as _offset
  from (
    select
      run_id, trajectory_id, attempt, sequence,
      arraySort(arrayDistinct(arrayZip(groupArray(_partition), groupArray(_offset)))) as places
    from discarded_trajectories
    where (run_id, trajectory_id, attempt) in (
      select run_id, trajectory_id, attempt from discarded_trajectories
      where (_offset >= least or _partition > most) and _offset >= transform(_partition, marks.1, marks.2, toInt64(0))
    )
    group by run_id, trajectory_id, attempt, sequence
    having count() > 1
  )
  array join arrayPopFront(places) as place
);

-- Groups only the steps that have repeats.
create or replace view repeated_steps as
select run_id, step, place.1 as _partition, place.2 as _offset
from (
  select run_id, step, arraySort(arrayDistinct(arrayZip(groupArray(_partition), groupArray(_offset)))) as places
  from steps
  where (run_id, step) in (select run_id, step from steps group by run_id, step having count() > 1)
  group by run_id, step
)
array join arrayPopFront(places) as place;

-- As before, but the values of repeated turns come with them, and other rows are told from repeats by their offset first, which costs less
-- than the whole key.
create or replace view turns_by_version as
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
  from repeated_turns
  group by run_id, purpose, policy_version_max
)
group by run_id, purpose, policy_version_max;

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
  where _offset in (select _offset from repeated_attempts) and (run_id, trajectory_id, attempt, _partition, _offset) in (
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
  where _offset in (select _offset from repeated_discards) and (run_id, trajectory_id, attempt, _partition, _offset) in (
    select run_id, trajectory_id, attempt, _partition, _offset from repeated_discards
  )
  group by run_id, version, reason
)
group by run_id, version, reason;
