// The TypeScript client as a package: packed, installed into an empty folder, and used there from JavaScript and TypeScript.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const run = promisify(execFile);
const source = join('infra', 'clients', 'typescript');
const JAVASCRIPT = `
import { Turnstream, weights } from '@turnstream/client';
const { format } = await weights('s3://w/1', { sha256: 'ab', format: 'gguf' });
console.log(new Turnstream().run('demo').id, format);
`;
const TYPESCRIPT = `
import { Turnstream, type Weights } from '@turnstream/client';
const policy: Weights = { uri: 's3://w/1', sha256: 'ab', format: 'gguf' };
const trainer = await new Turnstream().run('demo').trainer('a');
for await (const batch of trainer.batches()) await batch.commit({ policy });
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnstream-test-package-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

it('installs without dependencies, with types for Node and browsers', async () => {
  const [clone, user] = [join(folder, 'clone'), join(folder, 'user')];
  // builds a copy, because other tests read this folder
  cpSync(source, join(clone, source), { recursive: true, filter: (path) => !/[/\\](?:dist|node_modules)$/.test(path) });
  cpSync('tsconfig.json', join(clone, 'tsconfig.json'));
  symlinkSync(resolve('node_modules'), join(clone, 'node_modules'));
  mkdirSync(user);
  await run('npm', ['pack', '--pack-destination', user], { cwd: join(clone, source) });
  writeFileSync(join(user, 'package.json'), '{ "private": true, "type": "module" }');
  await run('npm', ['install', '--offline', '--prefix', user, './turnstream-client-0.1.0.tgz'], { cwd: user });
  expect(readdirSync(join(user, 'node_modules', '@turnstream', 'client')).sort()).toEqual(['README.md', 'dist', 'package.json']);

  writeFileSync(join(user, 'use.js'), JAVASCRIPT);
  expect((await run(process.execPath, ['use.js'], { cwd: user })).stdout).toBe('demo gguf\n');

  writeFileSync(join(user, 'use.ts'), TYPESCRIPT);
  const tsc = [resolve('node_modules', 'typescript', 'bin', 'tsc'), '--noEmit', '--strict', '--target', 'es2023', '--module', 'nodenext'];
  const told = await run(process.execPath, [...tsc, '--lib', 'es2023,dom', 'use.ts'], { cwd: user }).then(
    ({ stdout }) => stdout,
    (error: unknown) => (error as { readonly stdout: string }).stdout,
  );
  expect(told).toBe('');
});
