// Runs dependency-cruiser. Also fails if too few modules were found, because dependency-cruiser itself then exits with 0.
import { spawnSync } from 'node:child_process';

const args = [
  '--config',
  'infra/tooling/dependency-cruiser.cjs',
  '--output-type',
  'json',
  'schemas',
  'streams',
  'producers',
  'consumers',
  'infra',
];
const run = spawnSync('node_modules/.bin/depcruise', args, { encoding: 'utf8', maxBuffer: 1 << 28 });
const { summary } = JSON.parse(run.stdout);
for (const violation of summary.violations) process.stderr.write(`${violation.rule.name}: ${violation.from} -> ${violation.to}\n`);
process.stderr.write(`${summary.totalCruised} modules, ${summary.violations.length} violations\n`);
process.exit(summary.totalCruised > 20 && summary.violations.length === 0 ? 0 : 1);
