// Prints "N passed, N failed" from vitest's JSON reports as the last line. A suite that does not load counts as one failure, and so does a
// failed check before the tests. Exits with 1 when anything failed or nothing ran.
import { readFileSync } from 'node:fs';

const [checksFailed, ...paths] = process.argv.slice(2);
const reports = paths.map((path) => JSON.parse(readFileSync(path, 'utf8')));
const unloadable = reports
  .flatMap(({ testResults }) => testResults)
  .filter(({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'));
for (const { name, message } of unloadable) process.stdout.write(`could not run ${name}: ${message}\n`);
for (const { name, assertionResults } of reports.flatMap(({ testResults }) => testResults)) {
  for (const test of assertionResults.filter(({ status }) => status === 'failed')) {
    process.stdout.write(`failed: ${name}: ${test.fullName}\n${(test.failureMessages ?? []).join('\n').slice(0, 2_000)}\n`);
  }
}
const sum = (count) => reports.reduce((total, report) => total + report[count], 0);
const passed = sum('numPassedTests');
const failures = sum('numFailedTests') + unloadable.length;
const checks = checksFailed === '1' && failures === 0 ? 1 : 0;
if (checks > 0) process.stdout.write('a check outside the tests failed; see above\n');
process.stdout.write(`${passed} passed, ${failures + checks} failed\n`);
process.exit(failures + checks > 0 || passed === 0 ? 1 : 0);
