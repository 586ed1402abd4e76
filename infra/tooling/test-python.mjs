// `node infra/tooling/test-python.mjs [--report FILE]`: runs the tests of the Python client in its virtual environment, which is made on
// first use. Where no Python can make one, the tests are skipped with a message. The report has the counts in vitest's JSON format.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { clientFolder, install, python, run } from './python-env.mjs';

const { values: flags } = parseArgs({ options: { report: { type: 'string', default: '' } } });
const junit = resolve('.turnstream', 'python-tests.xml');

/** What pytest counted: an error outside a test is a failure. */
function countsOf(xml) {
  const count = (name) => Number(new RegExp(`<testsuite [^>]*\\b${name}="(\\d+)"`).exec(xml)?.[1] ?? 0);
  const failed = count('failures') + count('errors');
  return { numPassedTests: count('tests') - failed - count('skipped'), numFailedTests: failed };
}

function report(counts) {
  if (flags.report !== '') writeFileSync(flags.report, JSON.stringify({ ...counts, testResults: [] }));
}

rmSync(junit, { force: true });
// the tests read TRL's protocols from its source: running TRL would need torch, which takes 2 GB
if (!install('test', '--no-deps', 'trl==1.16.0')) {
  process.stdout.write('there is no Python 3.10 with venv and a package index: the tests of the Python client are skipped\n');
  report({ numPassedTests: 0, numFailedTests: 0 });
} else {
  const passed = run(python, ['-m', 'pytest', `--junitxml=${junit}`], { cwd: clientFolder });
  const counts = existsSync(junit) ? countsOf(readFileSync(junit, 'utf8')) : { numPassedTests: 0, numFailedTests: 1 };
  report(counts);
  process.exitCode = passed ? 0 : 1;
}
