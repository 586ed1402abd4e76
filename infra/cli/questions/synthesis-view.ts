// Formats the report of a synthesis.
import type { CountSpread, SynthesisReport } from '../../../producers/questions/synthesis/report.ts';

const percent = (part: number, whole: number): string => (whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)}%`);

const spread = ({ mean, counts }: CountSpread): string =>
  `mean ${mean.toFixed(2)}   ${counts.map((count, value) => `${value}: ${count}`).join('   ')}`;

/** Lines of text, each with a trailing newline. */
export function renderSynthesis(report: SynthesisReport): string {
  const { accepted, rejected, candidates } = report;
  const width = Math.max(4, ...report.gates.map(({ gate }) => gate.length));
  const lines = [
    `${report.seeds} seed questions, ${report.walks} walks, ${candidates} candidates in ${report.seconds.toFixed(1)} s`,
    `${accepted} accepted (${Object.entries(report.splits)
      .map(([split, count]) => `${count} ${split}`)
      .join(', ')}), ${rejected} rejected; ${report.sampledForReview} drawn for review`,
    '',
    `injections  ${spread(report.injections)}`,
    `fuzzes      ${spread(report.fuzzes)}`,
    `clauses     ${spread(report.clauses)}   (each needed)`,
    `hops        ${spread(report.hops)}   (look-ups that cannot be skipped)`,
    `closed book ${spread(report.directRight)}   (right of ${report.directSamples})`,
    `            questions by share of right answers, in tenths, also too easy ones: ${report.directShares.join(' ')}`,
    '',
    `${'gate'.padEnd(width)}     asked    passed   refused`,
    ...report.gates.map(
      ({ gate, asked, passed, refused }) =>
        `${gate.padEnd(width)}  ${String(asked).padStart(8)}  ${String(passed).padStart(8)}  ${String(refused).padStart(8)}  ${percent(passed, asked)}`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}
