// Statements that the SQL sandbox must run. The database is `turnstream`.

export interface LegitimateStatement {
  readonly query: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const plain = (query: string, params?: LegitimateStatement['params']): LegitimateStatement =>
  params === undefined ? { query } : { query, params };

/** Each must return 200. */
export const legitimateStatements: readonly LegitimateStatement[] = [
  plain('select 1'),
  plain('SELECT * FROM steps'),
  plain('select * from steps order by step desc limit 10'),
  plain('select count() from turns -- how many\n'),
  plain('/* steps */ select count(*) from steps;'),
  plain('select run_id, max(step) as last, avg(reward_mean) from steps group by run_id having last > 0 order by last'),
  plain('select step, reward_mean, avg(reward_mean) over (order by step rows between 9 preceding and current row) as smooth from steps'),
  plain('select step, row_number() over w as n, lagInFrame(loss) over w from steps window w as (partition by run_id order by step)'),
  plain("select tool, count(), quantile(0.5)(tool_ms), quantiles(0.5, 0.9, 0.99)(tool_ms) from turns where tool != '' group by tool"),
  plain(
    "select tool_error_type, count() as n, topK(3)(trajectory_id) from turns where tool_status = 'error' group by tool_error_type order by n desc",
  ),
  plain('select * from tool_health'),
  plain('select * from staleness_by_step order by step'),
  plain('select * from lineage where step = 2 limit 5'),
  plain('select * from runs'),
  plain('select * from evaluations'),
  plain('select * from dead_letters limit 1'),
  plain('select turnstream.steps.step from turnstream.steps'),
  plain('select s.step, t.trajectory_id, t.advantage from steps s join step_trajectories t using (run_id, step) where t.advantage > 0'),
  plain(
    'select t.question, count() from trajectories as t left join step_trajectories as s on s.trajectory_id = t.trajectory_id group by all',
  ),
  plain('select trajectory_id from trajectories where trajectory_id not in (select trajectory_id from step_trajectories)'),
  plain('select trajectory_id from trajectories where (trajectory_id, attempt) in (select trajectory_id, attempt from step_trajectories)'),
  plain('with kept as (select staleness_total from step_trajectories) select avg(staleness_total) from kept'),
  plain('with (select max(step) from steps) as last select * from steps where step = last'),
  plain('with 1 as a, a + 1 as b select a, b'),
  plain("select 'kept' as what, avg(reward) from step_trajectories union all select 'discarded', avg(reward) from discarded_trajectories"),
  plain('select question from trajectories intersect select question from tasks'),
  plain('select question_id from questions except select question_id from trajectories'),
  plain(
    'select toStartOfMinute(occurred_at) as minute, count() from turns group by minute order by minute with fill step interval 1 minute limit 20',
  ),
  plain("select dateDiff('second', started_at, finished_at) as seconds, formatReadableTimeDelta(seconds) from trajectories limit 3"),
  plain('select arraySort(groupArray((step, reward_mean))) from steps'),
  plain('select arrayMap((x, y) -> x + y, [1, 2], [3, 4]) as sums, arraySum(x -> x * 2, sums), arrayJoin([1, 2])'),
  plain(
    'select policy_span_versions, version, tokens from turns array join policy_span_versions as version, policy_span_tokens as tokens limit 10',
  ),
  plain("select JSONExtractString(tool_arguments, 'query') as query, count() from turns group by query order by count() desc limit 5"),
  plain("select trajectory_id, turn, substring(text, 1, 40) as head, length(text) from turns where text ilike '%capital%' limit 5"),
  plain("select question from trajectories where match(question, 'Which.*') and question not like 'x%' limit 5"),
  plain(
    "select if(reward > 0.5, 'good', 'bad') as kind, count(), countIf(tool_errors > 0), uniqExact(question_id) from trajectories group by kind",
  ),
  plain(
    "select case when reward = 1 then 'right' when reward = 0 then 'wrong' else 'half' end as verdict, count() from trajectories group by verdict",
  ),
  plain(
    "select multiIf(turns < 5, 'short', turns < 20, 'middle', 'long') as size, avg(reward), stddevPop(reward) from trajectories group by rollup(size)",
  ),
  plain('select corr(staleness_total, reward), simpleLinearRegression(staleness_total, reward) from step_trajectories'),
  plain('select histogram(5)(reward), argMax(trajectory_id, reward), groupUniqArray(5)(status) from trajectories'),
  plain('select distinct status, purpose from trajectories order by all'),
  plain('select distinct on (question_id) question_id, trajectory_id from trajectories'),
  plain('select * except (text, tool_result, token_ids, logprobs) from turns limit 2'),
  plain('select * replace (round(reward, 2) as reward) from trajectories limit 2'),
  plain("select columns('^staleness') from steps limit 1"),
  plain('select trajectory_id, turn from turns limit 2 by trajectory_id'),
  plain('select * from steps limit 1 offset 1'),
  plain('select number, exp(-number) from numbers(5)'),
  plain('select * from generate_series(1, 5)'),
  plain('select * from system.one'),
  plain('select x, y from (values (1, 2), (3, 4)) as t(x, y)'),
  plain('select cast(step as String), step::Float64, toDecimal64(reward_mean, 4), CAST(step AS Nullable(Int64)) from steps limit 1'),
  plain('select reward as "mean reward (%)", turns as `number of turns` from trajectories limit 1'),
  plain("select 'it''s; drop table turns' as quoted, 'file(\\'/etc/passwd\\')' as text, '/* no comment */'"),
  plain('with recursive t as (select 1 as n union all select n + 1 from t where n < 5) select sum(n) from t'),
  plain('select grouping(run_id), run_id, count() from steps group by grouping sets ((run_id), ())'),
  plain('select count() from turns group by run_id with totals'),
  plain('select run_id from steps qualify row_number() over (partition by run_id order by step) = 1'),
  plain('select step in (1, 2), step between 1 and 2, step is not null, not (step > 1), -step, step % 2 from steps limit 1'),
  plain('from steps select step'),
  plain('(select 1) union all (select 2)'),
  plain('select now() - interval 1 day, today(), toYYYYMM(now()), toUnixTimestamp64Micro(now64(6))'),
  plain('select a.step, b.step from steps as a asof join steps as b on a.run_id = b.run_id and a.step >= b.step'),
  plain("select arrayMap(lower, ['A']), arraySort(x -> -x, [1, 2]), arraySum(x -> x * 2, [1, 2]), mapKeys(map('a', 1))"),
  plain('with t as (select 1 as a, 2 as b), u as (select a from t) select t.a, b, u.a from t, u'),
  plain('select q.x, y from (select 1 as x, 2 as y) as q order by x, q.y'),
  plain("select toStartOfHour(occurred_at, 'Europe/Berlin') as hour, toHour(hour) as h, count() from turns group by hour, h order by hour"),
  plain("select run_id, step from steps order by run_id collate 'de', step"),
  plain(
    "select countMatches(text, 'search'), extractAll(lower(t.text), '[0-9]+'), replaceRegexpAll(left(concat(text, text), 1000), 'a+', '') from turns as t",
  ),
  plain('select dummy, number from system.one as o, numbers(2) as n'),
  plain("select hasAny(groupArray(tool), ['search', 'access']) from turns group by run_id"),
  plain("select JSONExtract(tool_arguments, 'query', 'String'), JSONExtractString(tool_arguments, 'query') from turns limit 2"),
  plain("select arrayReduce('quantiles(0.5, 0.9)', [1, 2, 3]), repeat('=', 10), rightPad('a', 5, '.')"),
  plain('select _table, _part, t.step from steps as t limit 1'),
  plain('select {zone:String} as zone, toTimezone(at, {zone:String}) from steps limit 1', { zone: 'UTC' }),
  { query: 'select * from steps where run_id = {run:String} and step >= {from:Int32}', params: { run: 'run-a', from: 1 } },
  {
    query: 'select {list:Array(Int32)} as list, {text:String} as text, {flag:Bool} as flag',
    params: { list: [1, 2], text: "it's {x}; --\n", flag: true },
  },
  { query: 'select count() from turns where tool in {tools:Array(String)}', params: { tools: ['search', 'access'] } },
  { query: 'select {maybe:Nullable(String)} is null', params: { maybe: null } },
];
