// Where wall-clock time is spent: a statement around that for the time of all attempts, whose result the API keeps up to date.

/** Time of all attempts from start to finish, ms. */
export const flightSql = `    SELECT sum(dateDiff('millisecond', started_at, finished_at)) AS flight
    FROM trajectories
    WHERE run_id = {run:String} AND if({purpose:String} = '', purpose != 'eval', purpose = {purpose:String})
      AND version_last >= {from_step:Int32} - 1 AND version_last < {to_step:Int32}
      AND (_partition, _offset) NOT IN (SELECT _partition, _offset FROM repeated_attempts WHERE run_id = {run:String})`;

/** `flight` is the statement that returns the time of all attempts. */
export const wallClockWith = (
  flight: string,
): string => `SELECT side, phase, seconds, seconds / nullIf(sum(seconds) OVER (PARTITION BY side), 0) AS share
FROM (
  SELECT 'rollouts' AS side, part.1 AS phase, part.2 / 1000 AS seconds
  FROM (
    SELECT
      sum(generation_queue_ms) AS model_queue, sum(generation_retry_ms) AS model_retries, sum(generation_ms) - model_queue - model_retries AS generation,
      sum(tool_queue_ms) AS call_queue, sum(tool_retry_ms) AS call_retries, sum(tool_ms) - call_queue - call_retries AS tools
    FROM turns_by_version
    WHERE run_id = {run:String} AND if({purpose:String} = '', purpose != 'eval', purpose = {purpose:String})
      AND policy_version_max >= {from_step:Int32} - 1 AND policy_version_max < {to_step:Int32}
  ) AS busy
  CROSS JOIN (
${flight}
  ) AS whole
  ARRAY JOIN [
    ('generation', generation), ('queue of generations', model_queue), ('retries of generations', model_retries),
    ('tools', tools), ('queue of tools', call_queue), ('retries of tools', call_retries),
    ('between turns', greatest(0., flight - generation - model_queue - model_retries - tools - call_queue - call_retries))
  ] AS part
  UNION ALL
  SELECT 'rollouts' AS side, 'queue' AS phase, sum(queue_ms) / 1000 AS seconds
  FROM step_trajectories
  WHERE run_id = {run:String} AND step >= {from_step:Int32} AND step <= {to_step:Int32}
    AND (_partition, _offset) NOT IN (SELECT _partition, _offset FROM repeated_steps WHERE run_id = {run:String})
  UNION ALL
  SELECT 'trainer' AS side, part.1 AS phase, part.2 / 1000 AS seconds
  FROM (
    SELECT sum(wait_ms) AS waiting, sum(train_ms) AS training
    FROM steps
    WHERE run_id = {run:String} AND step >= {from_step:Int32} AND step <= {to_step:Int32}
      AND (_partition, _offset) NOT IN (SELECT _partition, _offset FROM repeated_steps WHERE run_id = {run:String})
  )
  ARRAY JOIN [('waiting for groups', waiting), ('training', training)] AS part
)
ORDER BY side, seconds DESC, phase`;
