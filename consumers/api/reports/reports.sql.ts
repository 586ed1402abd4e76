// The statements behind the reports of a run. The guide of the twelve questions shows the same texts (a test compares them), and anyone can
// run them through SQL: parameters are bound as {name:Type}.
import { comparedEntries, comparing } from './compare.sql.ts';
import { endedReasons } from './late.sql.ts';
import { flightSql, wallClockWith } from './wall-clock.sql.ts';

/** Which tool got slower since a step, with which errors and arguments. Parameters: run, step, purpose (empty: all). */
export const toolChangesSql = `SELECT
  tool,
  error_type,
  sumIf(calls, NOT since) AS calls_before,
  sumIf(calls, since) AS calls_since,
  anyOrNullIf(ms[1], NOT since) AS ms_p50_before,
  anyOrNullIf(ms[1], since) AS ms_p50_since,
  anyOrNullIf(ms[2], NOT since) AS ms_p95_before,
  anyOrNullIf(ms[2], since) AS ms_p95_since,
  ms_p95_since / nullIf(ms_p95_before, 0) AS slower,
  anyIf(slowest, since) AS slowest_arguments_since
FROM (
  SELECT
    tool,
    tool_error_type AS error_type,
    policy_version_max >= {step:Int32} AS since,
    count() AS calls,
    quantiles(0.5, 0.95)(tool_ms) AS ms,
    argMax(tool_arguments, tool_ms) AS slowest
  FROM (
    SELECT * FROM turns
    WHERE run_id = {run:String} AND tool != '' AND policy_version_max >= 0 AND ({purpose:String} = '' OR purpose = {purpose:String})
      AND (_partition, _offset) NOT IN (SELECT _partition, _offset FROM repeated_turns WHERE run_id = {run:String})
  )
  GROUP BY tool, error_type, since
)
GROUP BY tool, error_type
ORDER BY slower DESC NULLS LAST, tool, error_type`;

/** How much of the change in reward comes from the length of trajectories. Parameters: run, purpose (empty: all but eval). */
export const lengthsSql = `WITH
  (SELECT max(version_first) FROM trajectories WHERE run_id = {run:String} AND if({purpose:String} = '', purpose != 'eval', purpose = {purpose:String}) AND status IN ('answered', 'max_turns', 'max_tokens', 'timeout')) AS newest,
  intDiv(newest, 4) AS quarter
SELECT
  turns,
  early,
  late,
  early_sum / nullIf(early, 0) AS early_reward,
  late_sum / nullIf(late, 0) AS late_reward,
  early / sum(early) OVER () AS early_share,
  late / sum(late) OVER () AS late_share,
  (late_share - early_share) * (ifNull(early_reward, late_reward) + ifNull(late_reward, early_reward)) / 2 AS by_length,
  (ifNull(late_reward, early_reward) - ifNull(early_reward, late_reward)) * (early_share + late_share) / 2 AS at_same_length
FROM (
  SELECT
    turns,
    countIf(version_first <= quarter) AS early,
    countIf(version_first >= newest - quarter) AS late,
    sumIf(reward, version_first <= quarter) AS early_sum,
    sumIf(reward, version_first >= newest - quarter) AS late_sum
  FROM (
    SELECT * FROM trajectories
    WHERE run_id = {run:String} AND if({purpose:String} = '', purpose != 'eval', purpose = {purpose:String}) AND version_first >= 0 AND status IN ('answered', 'max_turns', 'max_tokens', 'timeout')
      AND (_partition, _offset) NOT IN (SELECT _partition, _offset FROM repeated_attempts WHERE run_id = {run:String})
  )
  GROUP BY turns
  HAVING early + late > 0
)
ORDER BY turns`;

/** Where wall-clock time is spent. Parameters: run, from_step, to_step, purpose (empty: all but eval). */
export const wallClockSql = wallClockWith(flightSql);

/** Questions by how they are answered. Parameters: run, purpose (empty: all but eval). */
export const runQuestionsSql = `SELECT
  question_id,
  any(question) AS text,
  count() AS tries,
  countIf(em = 1) AS right_answers,
  avg(f1) AS f1_mean,
  avg(reward) AS reward_mean,
  multiIf(right_answers = 0, 'never', right_answers = tries, 'always', 'flips') AS outcome,
  arrayCount(x -> x != 0, arrayDifference(arrayMap(x -> toInt8(bitAnd(x, 1)), arraySort(groupArray(2 * toUnixTimestamp64Micro(finished_at) + (em = 1)))))) AS flips,
  min(version_first) AS first_version,
  max(version_last) AS last_version
FROM (
  SELECT * FROM trajectories
  WHERE run_id = {run:String} AND if({purpose:String} = '', purpose != 'eval', purpose = {purpose:String}) AND status IN ('answered', 'max_turns', 'max_tokens', 'timeout')
    AND (_partition, _offset) NOT IN (SELECT _partition, _offset FROM repeated_attempts WHERE run_id = {run:String})
)
GROUP BY question_id
ORDER BY flips DESC, question_id`;

/** Comparison of workers: started = finished + failed + cancelled + lost + running. Parameters: run, purpose (empty: all). */
export const workersSql = `SELECT
  worker_id,
  started,
  finished,
  lost,
  lost / started AS lost_share,
  failed,
  cancelled,
  started - finished - failed - cancelled - lost AS running,
  late,
  reward_mean,
  tool_failure_rate,
  ms_per_turn,
  ms_per_turn / nullIf(median(ms_per_turn) OVER (), 0) AS slowness,
  longest_silence_s,
  last_heartbeat_at
FROM (
  SELECT worker_id, uniqExact(cityHash64(trajectory_id, attempt)) AS started
  FROM (
    SELECT worker_id, trajectory_id, attempt FROM trajectory_starts WHERE run_id = {run:String} AND ({purpose:String} = '' OR purpose = {purpose:String})
    UNION ALL
    SELECT worker_id, trajectory_id, attempt FROM trajectories WHERE run_id = {run:String} AND ({purpose:String} = '' OR purpose = {purpose:String})
  )
  GROUP BY worker_id
) AS starts
LEFT JOIN (
  SELECT
    worker_id,
    countIf(status IN ('answered', 'max_turns', 'max_tokens')) AS finished,
    countIf(status IN ('failed', 'refused', 'timeout')) AS failed,
    countIf(status = 'cancelled') AS cancelled,
    avgOrNullIf(reward, status IN ('answered', 'max_turns', 'max_tokens', 'timeout')) AS reward_mean,
    sum(tool_errors) / nullIf(sum(tool_calls), 0) AS tool_failure_rate,
    sum(dateDiff('millisecond', started_at, finished_at)) / nullIf(sum(turns), 0) AS ms_per_turn
  FROM (
    SELECT * FROM trajectories
    WHERE run_id = {run:String} AND ({purpose:String} = '' OR purpose = {purpose:String})
      AND (_partition, _offset) NOT IN (SELECT _partition, _offset FROM repeated_attempts WHERE run_id = {run:String})
  )
  GROUP BY worker_id
) AS ends USING (worker_id)
LEFT JOIN (
  SELECT worker_id, uniqExact(trajectory_id, attempt) AS lost
  FROM trajectory_starts
  WHERE run_id = {run:String} AND ({purpose:String} = '' OR purpose = {purpose:String})
    AND (trajectory_id, attempt) IN (SELECT trajectory_id, attempt FROM expired_attempts WHERE run_id = {run:String})
    AND (trajectory_id, attempt) NOT IN (
      SELECT trajectory_id, attempt FROM trajectories
      WHERE run_id = {run:String}
        AND (trajectory_id, attempt) IN (SELECT trajectory_id, attempt FROM expired_attempts WHERE run_id = {run:String})
    )
  GROUP BY worker_id
) AS losses USING (worker_id)
LEFT JOIN (
  SELECT worker_id, count() AS late
  FROM trajectories
  WHERE run_id = {run:String} AND ({purpose:String} = '' OR purpose = {purpose:String})
    AND (trajectory_id, attempt) IN (
      SELECT trajectory_id, attempt FROM expired_attempts WHERE run_id = {run:String} AND reason NOT IN (${endedReasons})
    )
    AND (_partition, _offset) NOT IN (SELECT _partition, _offset FROM repeated_attempts WHERE run_id = {run:String})
  GROUP BY worker_id
) AS lates USING (worker_id)
LEFT JOIN (
  SELECT
    worker_id,
    arrayMax(arrayDifference(arraySort(groupArray(toUnixTimestamp64Milli(occurred_at))))) / 1000 AS longest_silence_s,
    max(occurred_at) AS last_heartbeat_at
  FROM heartbeats
  WHERE run_id = {run:String}
  GROUP BY worker_id
) AS beats USING (worker_id)
ORDER BY lost_share DESC, slowness DESC, worker_id`;

/** Cost of a point of reward, by the first version of a trajectory. Parameters: run, purpose (empty: all but eval). */
export const costSql = `SELECT
  version_first AS version,
  sum(attempts) AS trajectories,
  sum(attempts_by_version.reward_sum) AS reward_sum,
  sum(prompt_tokens) / nullIf(reward_sum, 0) AS prompt_tokens_per_reward,
  sum(completion_tokens) / nullIf(reward_sum, 0) AS completion_tokens_per_reward,
  sum(tool_calls) / nullIf(reward_sum, 0) AS tool_calls_per_reward,
  sum(flight_ms) / 1000 / nullIf(reward_sum, 0) AS seconds_per_reward
FROM attempts_by_version
WHERE run_id = {run:String} AND if({purpose:String} = '', purpose != 'eval', purpose = {purpose:String}) AND status IN ('answered', 'max_turns', 'max_tokens', 'timeout')
GROUP BY version
ORDER BY version`;

/** Differences between two runs: settings first, then results. Parameters: run, other. */
export const compareSql = comparing(comparedEntries);
