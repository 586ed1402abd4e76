-- An evaluation with its own worker: no other worker takes its tasks, and that worker takes no others. Empty = the workers of the run.
alter table tasks
  add column addressee LowCardinality(String) after evaluation_id;

alter table heartbeats
  add column addressee LowCardinality(String) after running_attempts;
