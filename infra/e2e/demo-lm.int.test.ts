// The short form of `npm run demo:lm`: a language model in JAX improves by training on what came through the log.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientPython } from '../testing/client-python.ts';
import { sharedHome } from '../testing/shared-home.ts';
import { cleanEnv, type TestHome } from '../testing/up.ts';

const POLITE = 10;

interface DemoRecord {
  readonly steps: number;
  readonly kills: number;
  readonly before: { readonly all: number };
  readonly after: { readonly all: number };
  /** Percentage points. */
  readonly gain: number;
  readonly ledger_verify: string;
}

let home: TestHome;
beforeAll(async () => {
  home = await sharedHome({ TURNSTREAM_API_PORT: '0' });
});
afterAll(() => home.remove());

it.skipIf(!existsSync(clientPython))(
  'raises held-out accuracy in a few steps, with the trainer killed on the way',
  async () => {
    const out = join(home.dataDir, 'record.json');
    const args = ['infra/tooling/demo-lm.mjs', '--short', '--kills', '1', '--out', out];
    const child = spawn(process.execPath, args, { env: cleanEnv(home.env), stdio: ['ignore', 'pipe', 'pipe'] });
    // it computes for minutes, beside tests that depend on time
    setPriority(child.pid ?? 0, POLITE);
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (said += part.toString()));
    const code = await new Promise((done) => child.once('close', done));
    expect(code, said.slice(-5_000)).toBe(0);
    const [record] = JSON.parse(readFileSync(out, 'utf8')) as readonly [DemoRecord];
    expect(record).toMatchObject({ steps: 4, kills: 1 });
    // with 96 questions, the standard error is 4 points
    expect(record.gain, JSON.stringify(record)).toBeGreaterThan(8);
    expect(record.after.all).toBeGreaterThan(record.before.all);
    expect(record.ledger_verify).toContain('4 steps');
  },
  1_800_000,
);
