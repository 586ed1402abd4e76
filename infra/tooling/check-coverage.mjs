// Checks the coverage floors: at least 95 % of lines and branches in streams/ and schemas/, 85 % elsewhere. Prints the files that lower the
// coverage of a group. Exits with 1 below a floor if COVERAGE_ENFORCED is set; otherwise it only reports.
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const groups = [
  { name: 'streams and schemas', floor: 95, has: (file) => /^(streams|schemas)\//.test(file) },
  { name: 'the rest', floor: 85, has: (file) => !/^(streams|schemas)\//.test(file) },
];
const WORST = 10;

const REPORT = 'coverage/coverage-summary.json';
if (!existsSync(REPORT)) {
  process.stdout.write('no coverage was reported: tests failed, or were not run with --coverage\n');
  process.exit(0);
}
const summary = JSON.parse(readFileSync(REPORT, 'utf8'));
const files = Object.entries(summary)
  .filter(([file]) => file !== 'total')
  .map(([file, counts]) => ({ file: relative(process.cwd(), file), counts }));

let below = false;
for (const { name, floor, has } of groups) {
  const members = files.filter(({ file }) => has(file));
  for (const kind of ['lines', 'branches']) {
    const total = members.reduce((sum, { counts }) => sum + counts[kind].total, 0);
    const covered = members.reduce((sum, { counts }) => sum + counts[kind].covered, 0);
    const percent = total === 0 ? 100 : (100 * covered) / total;
    const ok = percent >= floor;
    process.stdout.write(`${ok ? 'ok   ' : 'BELOW'} ${name}: ${percent.toFixed(1)} % of ${kind}, floor ${floor} %\n`);
    if (ok) continue;
    below = true;
    const missing = ({ counts }) => counts[kind].total - counts[kind].covered;
    for (const member of members.sort((a, b) => missing(b) - missing(a)).slice(0, WORST)) {
      process.stdout.write(`        ${member.file}: ${missing(member)} ${kind} not covered\n`);
    }
  }
}
process.exit(below && process.env.COVERAGE_ENFORCED === '1' ? 1 : 0);
