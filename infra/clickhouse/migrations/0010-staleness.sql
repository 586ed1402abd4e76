-- One definition a name: `staleness_mean`, `staleness_p95` and `staleness_max` are over the trajectories of a step, each of
-- which counts once with its `staleness_total`, so that the two parts of the mean add up to it; what is over tokens says so.
-- Steps that were stored before had the figures of their tokens under these names. Their mean is made of its parts here,
-- whose sum over the trajectories is a whole number; their p95 and max stay those of the tokens.
alter table steps
  add column staleness_token_mean Float64 default -1 comment 'Over the tokens of known version, versions' codec(ZSTD(1)) after staleness_in_queue_mean,
  add column staleness_token_p95 Float64 default -1 comment 'Over the tokens of known version, versions' codec(ZSTD(1)) after staleness_token_mean,
  add column staleness_token_max Float64 default -1 comment 'Over the tokens of known version, versions' codec(ZSTD(1)) after staleness_token_p95;

alter table steps update
  staleness_token_mean = staleness_mean,
  staleness_token_p95 = staleness_p95,
  staleness_token_max = staleness_max,
  staleness_mean = if(trajectories = 0, 0, round((staleness_in_flight_mean + staleness_in_queue_mean) * trajectories) / trajectories)
where staleness_token_mean = -1
settings mutations_sync = 2;

alter table steps
  comment column staleness_mean 'Over the trajectories: mean of staleness_total, versions; staleness_in_flight_mean + staleness_in_queue_mean',
  comment column staleness_p95 'Over the trajectories: 95th percentile of staleness_total by nearest rank, versions',
  comment column staleness_max 'Over the trajectories: greatest staleness_total, versions';
