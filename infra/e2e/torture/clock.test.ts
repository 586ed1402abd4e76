import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const preload = pathToFileURL(join(import.meta.dirname, 'clock.mjs')).href;
const HOUR_MS = 3_600_000;
const dir = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'turnstream-clocks-'));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
};
const envOf = (clocks: string) => ({ ...process.env, NODE_OPTIONS: `--import=${preload}?clocks=${encodeURIComponent(clocks)}` });
const offBy = (said: string): number => Number(said) - Date.now();

it('shifts the wall clock of one role forward and back while it runs', async () => {
  const clocks = dir();
  const program = join(clocks, 'role.mjs');
  const line = 'process.stdout.write(`${Date.now()} ${+new Date()} ${Date.parse(Date())}\\n`)';
  writeFileSync(program, `process.stdin.on('data', () => setTimeout(() => ${line}, 60));`);
  const child = spawn(process.execPath, [program, 'worker'], { env: envOf(clocks), stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill());
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const times = async (): Promise<readonly number[]> => {
    child.stdin.write('?');
    return String((await lines.next()).value)
      .split(' ')
      .map(offBy);
  };
  for (const byMs of [0, HOUR_MS, -HOUR_MS, 0]) {
    writeFileSync(join(clocks, 'worker'), String(byMs));
    for (const off of await times()) expect(Math.abs(off - byMs)).toBeLessThan(5_000);
  }
});

it('does not affect the clocks of other roles, or of programs outside a torture test', async () => {
  const clocks = dir();
  writeFileSync(join(clocks, 'worker'), String(HOUR_MS));
  const program = join(clocks, 'role.mjs');
  writeFileSync(program, 'process.stdout.write(String(Date.now()))');
  const run = async (env: NodeJS.ProcessEnv): Promise<number> =>
    offBy((await promisify(execFile)(process.execPath, [program, 'trainer'], { env })).stdout);
  expect(Math.abs(await run(envOf(clocks)))).toBeLessThan(5_000);
  expect(Math.abs(await run({ ...process.env, NODE_OPTIONS: `--import=${preload}` }))).toBeLessThan(5_000);
});
