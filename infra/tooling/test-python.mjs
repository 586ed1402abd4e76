// `node infra/tooling/test-python.mjs [--report FILE]`: the tests of the Python client, in a virtual environment of their own that is made on first use.
// Where there is no Python that can make one, they are skipped, which a line says. The report has the counts in the form of vitest's.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values: flags } = parseArgs({ options: { report: { type: 'string', default: '' } } });
const folder = join('infra', 'clients', 'python');
const home = resolve('.turnstream', 'python');
const python = join(home, 'bin', 'python');
const junit = resolve('.turnstream', 'python-tests.xml');
const run = (file, args, options = {}) => spawnSync(file, args, { stdio: 'inherit', ...options }).status === 0;

function install(...what) {
  return run(python, ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', ...what]);
}

function ready() {
  if (!existsSync(python) && !run('python3', ['-m', 'venv', home])) return false;
  // the protocols of TRL are read from its source: torch, which it needs to run, has 2 GB
  return install('--editable', `${folder}[test]`) && install('--no-deps', 'trl==1.16.0');
}

/** What pytest counted: an error outside a test is a failure. */
function countsOf(xml) {
  const count = (name) => Number(new RegExp(`<testsuite [^>]*\\b${name}="(\\d+)"`).exec(xml)?.[1] ?? 0);
  const failed = count('failures') + count('errors');
  return { numPassedTests: count('tests') - failed - count('skipped'), numFailedTests: failed };
}

function report(counts) {
  if (flags.report !== '') writeFileSync(flags.report, JSON.stringify({ ...counts, testResults: [] }));
}

mkdirSync(resolve('.turnstream'), { recursive: true });
rmSync(junit, { force: true });
if (!ready()) {
  process.stdout.write('there is no Python 3.10 with venv and a package index: the tests of the Python client are skipped\n');
  report({ numPassedTests: 0, numFailedTests: 0 });
} else {
  const passed = run(python, ['-m', 'pytest', `--junitxml=${junit}`], { cwd: folder });
  const counts = existsSync(junit) ? countsOf(readFileSync(junit, 'utf8')) : { numPassedTests: 0, numFailedTests: 1 };
  report(counts);
  process.exitCode = passed ? 0 : 1;
}
