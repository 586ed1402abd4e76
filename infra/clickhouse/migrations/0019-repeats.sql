-- A row that repeats an event is rare, and finding one means grouping every row of a table. The warehouse does that once, behind
-- the sink: `repeated_keys` names the attempts that have repeats, and `repeat_marks` says how far it has looked. The `repeated_*`
-- views look at those attempts and at the rows behind the marks, so they are exact at any time, with or without the tables below.

create table repeated_keys (
  table_name LowCardinality(String) comment 'Table that has the repeats: turns, trajectories, discarded_trajectories',
  run_id LowCardinality(String) comment 'Slug of the run',
  trajectory_id String comment 'Id of the trajectory',
  attempt Int32 comment 'Attempt of the trajectory, from 0'
) engine = ReplacingMergeTree
order by (table_name, run_id, trajectory_id, attempt)
settings non_replicated_deduplication_window = 10000;

create table repeat_marks (
  table_name LowCardinality(String) comment 'Table that was looked at',
  partition Int32 comment 'Partition of the topic of the table',
  offset Int64 comment 'Attempts with a row before this offset have been looked at',
  rows Int64 comment 'Rows before this offset at that time'
) engine = ReplacingMergeTree(offset)
order by (table_name, partition)
settings non_replicated_deduplication_window = 10000;

create or replace view repeated_turns as
with (
  select groupArray((partition, offset)) from (
    select partition, max(offset) as offset from repeat_marks where table_name = 'turns' group by partition
  )
) as marks
select run_id, trajectory_id, attempt, record.1 as turn, record.2 as _partition, record.3 as _offset
from (
  select
    run_id, trajectory_id, attempt,
    arraySort(arrayDistinct(arrayZip(groupArray(turn), groupArray(_partition), groupArray(_offset)))) as records
  from turns
  where (run_id, trajectory_id, attempt) in (
    select run_id, trajectory_id, attempt from repeated_keys where table_name = 'turns'
    union all
    select run_id, trajectory_id, attempt from turns where _offset >= transform(_partition, marks.1, marks.2, toInt64(0))
  )
  group by run_id, trajectory_id, attempt
  having count() > uniqExact(turn)
)
array join arrayFilter((record, at) -> at > 1 and record.1 = records[at - 1].1, records, arrayEnumerate(records)) as record;

create or replace view repeated_attempts as
with (
  select groupArray((partition, offset)) from (
    select partition, max(offset) as offset from repeat_marks where table_name = 'trajectories' group by partition
  )
) as marks
select run_id, trajectory_id, attempt, place.1 as _partition, place.2 as _offset
from (
  select run_id, trajectory_id, attempt, arraySort(arrayDistinct(arrayZip(groupArray(_partition), groupArray(_offset)))) as places
  from trajectories
  where (run_id, trajectory_id, attempt) in (
    select run_id, trajectory_id, attempt from repeated_keys where table_name = 'trajectories'
    union all
    select run_id, trajectory_id, attempt from trajectories where _offset >= transform(_partition, marks.1, marks.2, toInt64(0))
  )
  group by run_id, trajectory_id, attempt
  having count() > 1
)
array join arrayPopFront(places) as place;

create or replace view repeated_discards as
with (
  select groupArray((partition, offset)) from (
    select partition, max(offset) as offset from repeat_marks where table_name = 'discarded_trajectories' group by partition
  )
) as marks
select run_id, trajectory_id, attempt, sequence, place.1 as _partition, place.2 as _offset
from (
  select
    run_id, trajectory_id, attempt, sequence,
    arraySort(arrayDistinct(arrayZip(groupArray(_partition), groupArray(_offset)))) as places
  from discarded_trajectories
  where (run_id, trajectory_id, attempt) in (
    select run_id, trajectory_id, attempt from repeated_keys where table_name = 'discarded_trajectories'
    union all
    select run_id, trajectory_id, attempt from discarded_trajectories where _offset >= transform(_partition, marks.1, marks.2, toInt64(0))
  )
  group by run_id, trajectory_id, attempt, sequence
  having count() > 1
)
array join arrayPopFront(places) as place;
