-- Whose tasks a worker takes: an evaluation with its own worker does not share it with the run.
alter table tasks
  add column addressee LowCardinality(String) after evaluation_id;

alter table heartbeats
  add column addressee LowCardinality(String) after running_attempts;
