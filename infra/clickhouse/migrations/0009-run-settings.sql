-- What a run was started with, and what its end says became of the trajectories that it admitted.
alter table run_events
  add column settings String codec(ZSTD(1)) after resume,
  add column admitted Int64 default -1 codec(ZSTD(1)) after settings,
  add column open Int64 default -1 codec(ZSTD(1)) after admitted;
