// Python's clickhouse-connect with the embedded store. Requires python3 with pip; fails where the package cannot be installed, so that a
// machine without it does not pass by accident.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestStore, type TestStore } from '../testing/store.ts';

const PACKAGES = ['clickhouse-connect==1.12.0', 'pandas==3.1.1', 'pyarrow==26.0.1'];
const script = fileURLToPath(new URL('../e2e/clients/clickhouse_connect_check.py', import.meta.url));
/** Kept between runs: the installation takes most of the time. */
const venv = join(tmpdir(), 'turnstream-test-clickhouse-connect-1.12.0');

function run(command: string, args: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const output: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => output.push(part));
    child.stderr.on('data', (part: Buffer) => output.push(part));
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, output: Buffer.concat(output).toString() });
    });
  });
}

describe("Python's clickhouse-connect", () => {
  let store: TestStore;
  beforeAll(async () => {
    if (!existsSync(join(venv, 'complete'))) {
      const made = await run('python3', ['-m', 'venv', '--clear', venv]);
      if (made.code !== 0) throw new Error(`python3 -m venv failed: ${made.output}`);
      const installed = await run(join(venv, 'bin', 'pip'), ['install', '--quiet', '--disable-pip-version-check', ...PACKAGES]);
      if (installed.code !== 0) throw new Error(`pip install failed: ${installed.output}`);
      await run('touch', [join(venv, 'complete')]);
    }
    store = await startTestStore();
  }, 300_000);
  afterAll(() => store.stop());

  it('connects, creates, inserts with every compression it has, reads in every way it has, and gets errors', async () => {
    const { code, output } = await run(join(venv, 'bin', 'python'), [script, '127.0.0.1', String(store.port)]);
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/all checks passed\n$/) as string });
  });
});
