// Runs the files of failed tests once more, by themselves: on a busy machine, a test that starts Kafka, ClickHouse, or a browser may exceed
// its time limit. A file that passes then is reported as unsteady, and its second result replaces the first in the report. Prints every
// failure of the first run either way. More than MOST files are not run again: so many failures are not caused by a busy machine.
// Usage: run-again.mjs <vitest JSON report> [-- <arguments of vitest>]. Exits with 1 if anything still fails.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const MOST = 3;
const COUNTS = { passed: 'numPassedTests', failed: 'numFailedTests' };
const [path, , ...args] = process.argv.slice(2);
if (!existsSync(path)) process.exit(1);

const report = JSON.parse(readFileSync(path, 'utf8'));
const failed = report.testResults.filter(({ status }) => status === 'failed');
for (const { name, message, assertionResults } of failed) {
  process.stdout.write(`failed: ${name} ${message}\n`);
  for (const test of assertionResults.filter(({ status }) => status === 'failed')) {
    process.stdout.write(`  ${test.fullName}\n${test.failureMessages.join('\n')}\n`);
  }
}
if (failed.length === 0 || failed.length > MOST) process.exit(1);

const second = `${path}.again`;
rmSync(second, { force: true });
const files = failed.map(({ name }) => name);
process.stdout.write(`running ${files.length} file(s) once more\n`);
spawnSync('npx', ['vitest', 'run', ...args, '--reporter=default', '--reporter=json', `--outputFile.json=${second}`, ...files], {
  stdio: 'inherit',
});
if (!existsSync(second)) process.exit(1);
const results = JSON.parse(readFileSync(second, 'utf8')).testResults;
if (results.length !== files.length || results.some(({ status }) => status !== 'passed')) process.exit(1);

const tests = (of, status) => of.flatMap(({ assertionResults }) => assertionResults).filter((test) => test.status === status).length;
for (const [status, count] of Object.entries(COUNTS)) report[count] += tests(results, status) - tests(failed, status);
report.testResults = [...report.testResults.filter(({ status }) => status !== 'failed'), ...results];
writeFileSync(path, JSON.stringify(report));
for (const name of files) process.stdout.write(`unsteady: ${name} failed, and passed when it was run again by itself\n`);
