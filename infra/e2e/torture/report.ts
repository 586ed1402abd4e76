// The results of a torture test: as JSON for the record and as a table for people.
import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { expiryCauses } from './check-needless.ts';
import type { ProblemKind } from './problem.ts';
import type { OracleVerdict } from './oracle.ts';
import { EXTERNAL_TRAINER, targets } from './schedule.ts';
import { isSurvived, kindOf, type Struck } from './strike.ts';
import type { TablesVerdict } from './tables.ts';

export interface TortureSettings {
  readonly minutes: number;
  readonly faults: number;
  readonly seed: number;
  readonly workers: number;
  readonly brokers: number;
  /** Whether disks could be filled on this machine. */
  readonly disks: boolean;
  /** Whether the trainer was an external one. */
  readonly external: boolean;
  /** Kinds of faults, if restricted. */
  readonly only?: readonly string[];
}

export interface TortureFindings {
  readonly settings: TortureSettings;
  /** Wall-clock time of the faults, from the first one to the end of the torture test. */
  readonly tookMs: number;
  readonly struck: readonly Struck[];
  readonly verdict: OracleVerdict;
  readonly tables: TablesVerdict;
  /** Why the test ended early; empty when it did not. */
  readonly broken: string;
}

export interface TortureReport {
  readonly ok: boolean;
  readonly machine: ReturnType<typeof machine>;
  readonly settings: TortureSettings;
  readonly minutes: number;
  readonly faults: number;
  readonly survived: number;
  readonly faultsByKind: Readonly<Record<string, number>>;
  /** Recovery time by target: number of faults, median and maximum, ms. */
  readonly recovery: Readonly<Record<string, { readonly faults: number; readonly p50Ms: number; readonly maxMs: number }>>;
  readonly steps: number;
  readonly admitted: number;
  readonly trained: number;
  readonly discarded: number;
  readonly open: number;
  readonly discards: OracleVerdict['discards'];
  readonly attempts: number;
  readonly groups: OracleVerdict['groups'];
  readonly leases: OracleVerdict['leases'];
  readonly needless: OracleVerdict['needless'];
  readonly worstStaleness: number;
  /** Problems in the log by kind; empty when there are none. */
  readonly found: Readonly<Partial<Record<ProblemKind, number>>>;
  readonly records: number;
  readonly checksum: string;
  readonly rows: { readonly missing: number; readonly doubled: number; readonly changed: number; readonly extra: number };
  readonly problems: readonly string[];
  readonly broken: string;
  readonly log: readonly object[];
}

const MOST_PROBLEMS = 50;

function machine() {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  return { cpu: cpus()[0]?.model ?? '', cores: cpus().length, memoryGb: Math.round(totalmem() / 2 ** 30), node: process.version, commit };
}

export function reportOf(findings: TortureFindings): TortureReport {
  const { settings, struck, verdict, tables, broken } = findings;
  const { problems, ...figures } = verdict;
  const texts = [...problems.map(({ kind, text }) => `${kind}: ${text}`), ...tables.problems];
  const survived = struck.filter(isSurvived).length;
  const ok = broken === '' && texts.length === 0 && survived === settings.faults && verdict.steps > 0;
  return {
    ...{ ok, machine: machine(), settings, minutes: Math.round(findings.tookMs / 600) / 100 },
    ...{ faults: struck.length, survived, faultsByKind: countKinds(struck), recovery: recoveryOf(struck) },
    ...figures,
    ...{ records: tables.records, checksum: tables.checksum },
    rows: { missing: tables.missing, doubled: tables.doubled, changed: tables.changed, extra: tables.extra },
    problems: texts.slice(0, MOST_PROBLEMS),
    broken,
    log: struck.map(({ fault: { draw: _draw, atMs: plannedMs, ...fault }, gone: _gone, ...rest }) => ({ ...fault, plannedMs, ...rest })),
  };
}

function countKinds(struck: readonly Struck[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { fault } of struck) {
    const kind = kindOf(fault);
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

function recoveryOf(struck: readonly Struck[]): TortureReport['recovery'] {
  return Object.fromEntries(
    [...targets, EXTERNAL_TRAINER].flatMap((target) => {
      const own = struck.filter(({ fault }) => fault.target === target);
      if (target === EXTERNAL_TRAINER && own.length === 0) return [];
      const times = own.flatMap(({ backMs }) => backMs ?? []).sort((a, b) => a - b);
      return [[target, { faults: own.length, p50Ms: times[Math.floor(times.length / 2)] ?? 0, maxMs: times.at(-1) ?? 0 }]];
    }),
  );
}

/** The figures as a table. */
export function tableOf(report: TortureReport): readonly string[] {
  const { found, rows, groups, needless, leases } = report;
  const count = (...kinds: ProblemKind[]): number => kinds.reduce((sum, kind) => sum + (found[kind] ?? 0), 0);
  const figures: readonly (readonly [string, string | number])[] = [
    ['minutes', report.minutes],
    ['faults struck / survived', `${report.faults} / ${report.survived}`],
    ...Object.entries(report.faultsByKind).map(([kind, times]) => [`  ${kind}`, times] as const),
    ['back after a fault, p50 / max s', ''],
    ...Object.entries(report.recovery).map(
      ([target, { p50Ms, maxMs }]) => [`  ${target}`, `${(p50Ms / 1000).toFixed(1)} / ${(maxMs / 1000).toFixed(1)}`] as const,
    ),
    ['steps', report.steps],
    ['trajectories admitted', report.admitted],
    ['  trained / discarded / open', `${report.trained} / ${report.discarded} / ${report.open}`],
    ['attempts', report.attempts],
    ['groups admitted', groups.admitted],
    ['  trained / discarded / open / lost', `${groups.trained} / ${groups.discarded} / ${groups.open} / ${groups.lost}`],
    ['lost', count('lost', 'order', 'stuck', 'resume', 'request')],
    ['doubled', count('doubled', 'attempt', 'stranger')],
    ['attempts given up', ''],
    ...expiryCauses.map((cause) => [`  ${cause}`, needless.expiries[cause]] as const),
    ['attempts run twice / superseded', `${needless.attemptsRunTwice} / ${needless.attemptsSuperseded}`],
    ['records repeated / turns unused', `${needless.recordsRepeated} / ${needless.turnsUnused}`],
    ['leases granted / committed / open', `${leases.granted} / ${leases.committed} / ${leases.open}`],
    ...Object.entries(leases.released).map(([reason, times]) => [`  ${reason}`, times ?? 0] as const),
    ['rewinds', leases.rewinds],
    ['leases / lineages wrong', `${count('lease')} / ${count('lineage')}`],
    ['versions missing or wrong', count('version', 'chain')],
    ['steps that differ from the records', count('step')],
    ['discards that differ from the records', count('discard')],
    ['worst staleness trained on', report.worstStaleness],
    ['staleness / admission bound broken', `${count('staleness')} / ${count('admission')}`],
    ['records of the log', report.records],
    ['rows missing / doubled / changed / extra', `${rows.missing} / ${rows.doubled} / ${rows.changed} / ${rows.extra}`],
  ];
  return [
    ...figures.map(([name, value]) => `${name.padEnd(42)} ${value}`),
    ...report.problems.map((problem) => `! ${problem}`),
    ...(report.broken === '' ? [] : [`! ${report.broken}`]),
  ];
}
