// Formats the output of `turnstream audit`.
import type { AuditProgress, AuditResult } from '../../../consumers/warehouse/audit.ts';
import { createRate, renderPace } from '../views/progress-rate.ts';
import type { AuditDifference } from '../../../consumers/warehouse/audit-findings.ts';

/** Formats progress reports as lines. */
export function createAuditLines(): (progress: AuditProgress | 'waiting', nowMs: number) => string {
  const rate = createRate();
  return (progress, nowMs) => {
    if (progress === 'waiting') return 'waiting until the sink has stored what is in the log now';
    const { topic, records, of, differences } = progress;
    const found = differences === 0 ? 'no differences' : `${differences} differences`;
    return `comparing ${topic}: ${renderPace({ done: records, of }, rate(records, nowMs))}, ${found}`;
  };
}

function differenceLines({ kind, table, topic, partition, offset, logRows, tableRows, columns }: AuditDifference): string[] {
  const place = `${topic}/${partition}@${offset}`;
  const head = `  ${kind} in ${table}: ${place}, ${logRows} rows expected from the log, ${tableRows} in the table`;
  return [head, ...columns.map((column) => `    ${JSON.stringify(column)}`)];
}

/** One line per table and partition, then the differences, then the verdict. */
export function renderAudit(result: AuditResult): string {
  const tables = result.topics.map(
    ({ equal, topic, partition, table, logRows, tableRows }) =>
      `${equal ? 'ok    ' : 'DIFFER'} ${`${topic}/${partition}`.padEnd(16)} ${table.padEnd(24)} ${logRows} expected from the log, ${tableRows} in the table`,
  );
  const waiting = result.lag.filter(({ records }) => records > 0);
  return [
    ...tables,
    ...result.differences.flatMap(differenceLines),
    ...(result.moreDifferences ? ['  … and more rows that differ'] : []),
    ...waiting.map(({ topic, partition, records }) => `  ${topic}/${partition}: ${records} records are not stored yet`),
    ...(result.sample === null ? [] : [sampleLine(result.sample)]),
    `${verdictOf(result)}: ${result.records} records compared, ${result.deadLetters} dead letters`,
    ...(result.complete || result.sample !== null ? [] : ['  `turnstream audit --resume` continues from here']),
    '',
  ].join('\n');
}

function verdictOf({ ok, complete, differences }: AuditResult): string {
  if (!complete && differences.length === 0) return 'stopped';
  return ok ? 'ok' : 'FAILED';
}

const sampleLine = ({ share, seed }: NonNullable<AuditResult['sample']>): string =>
  `  a sample: ${Number((share * 100).toFixed(3))} % of the log, drawn with seed ${seed}; the rest was not compared`;
