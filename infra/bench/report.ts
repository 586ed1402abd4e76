// A bench prints one table and writes its figures as JSON and as a page. Full runs go to infra/docs/reference/bench; quick ones, which only
// prove that a bench works, go to the system's temporary directory by default.
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from './environment.ts';

export interface BenchTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

interface BenchTarget {
  readonly what: string;
  readonly wanted: string;
  readonly found: string;
  readonly met: boolean;
  /** Why it is missed, from the figures. */
  readonly why?: string;
}

export interface BenchReport {
  readonly name: string;
  readonly title: string;
  /** The method of measurement, in a few sentences. */
  readonly method: string;
  readonly quick: boolean;
  readonly environment: Environment;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly table: BenchTable;
  readonly targets: readonly BenchTarget[];
  /** Everything that was measured. */
  readonly figures: unknown;
}

const DIRECTORY = 'infra/docs/reference/bench';

/** Prints the table, writes both files, and returns whether every target was met. */
export async function publish(report: BenchReport, directory?: string): Promise<boolean> {
  const to = directory ?? (report.quick ? tmpdir() : DIRECTORY);
  const name = report.quick ? `${report.name}-quick` : report.name;
  await mkdir(to, { recursive: true });
  await writeFile(join(to, `${name}.json`), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(to, `${name}.md`), pageOf(report));
  const tables = [report.table, ...targetTables(report.targets)].map(plain);
  process.stdout.write(`\n${tables.join('\n\n')}\n\nwritten to ${join(to, name)}.{json,md}\n`);
  return report.targets.every(({ met }) => met);
}

/** One table, or none for a bench without targets. */
function targetTables(targets: readonly BenchTarget[]): readonly BenchTable[] {
  const rows = targets.map(({ what, wanted, found, met, why }) => [
    what,
    wanted,
    found,
    met ? 'met' : `missed${why === undefined ? '' : `: ${why}`}`,
  ]);
  return rows.length === 0 ? [] : [{ columns: ['target', 'wanted', 'found', ''], rows }];
}

function pageOf({ title, method, quick, environment, parameters, table, targets }: BenchReport): string {
  const { cpu, cores, memoryGiB, node, commit, at, loadBefore } = environment;
  const settings = Object.entries(parameters).map(([name, value]) => `${name} ${String(value)}`);
  return [
    `# ${title}`,
    ...(quick ? ['**A quick run: it shows that the bench works. Its figures mean nothing.**'] : []),
    method,
    markdown(table),
    ...targetTables(targets).map(markdown),
    `${cpu}, ${cores} cores, ${memoryGiB} GiB; Node ${node}; commit ${commit}; ${at}; load before ${loadBefore}. Parameters: ${settings.join(', ')}.`,
  ]
    .join('\n\n')
    .concat('\n');
}

function plain({ columns, rows }: BenchTable): string {
  const all = [columns, ...rows];
  const widths = columns.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  return all
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Pads cells like prettier. */
function markdown({ columns, rows }: BenchTable): string {
  const widths = columns.map((column, at) => Math.max(3, column.length, ...rows.map((row) => (row[at] ?? '').length)));
  const line = (cells: readonly string[]): string => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [line(columns), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join('\n');
}

export const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
