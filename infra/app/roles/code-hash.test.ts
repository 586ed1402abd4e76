import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { codeHash } from './code-hash.ts';

const root = mkdtempSync(join(tmpdir(), 'turnstream-code-'));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

it('changes with every file that the module imports, and with nothing else', async () => {
  const dir = join(root, 'a');
  mkdirSync(join(dir, 'lib'), { recursive: true });
  const write = (name: string, text: string): void => {
    writeFileSync(join(dir, name), text);
  };
  write(
    'agent.mjs',
    "import { prompt } from './lib/prompt';\nimport fs from 'node:fs';\nexport default () => import(\"./lib/late.mjs\");\n",
  );
  write('lib/prompt.js', "export * from '../words.json';\nconst self = require('./prompt.js');\nimport './gone.mjs';\n");
  write('lib/late.mjs', 'export default 1;\n');
  write('words.json', '{"from": "./agent.mjs"}');
  write('other.mjs', '');
  const hash = () => codeHash(join(dir, 'agent.mjs'));
  const hashes = [await hash()];
  expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/);
  write('other.mjs', 'edited');
  expect(await hash()).toBe(hashes[0]);
  for (const [name, text] of [
    ['words.json', '{}'],
    ['lib/late.mjs', 'export default 2;\n'],
    ['lib/gone.mjs', ''],
  ] as const) {
    write(name, text);
    hashes.push(await hash());
  }
  expect(new Set(hashes).size).toBe(4);
  cpSync(dir, join(root, 'moved'), { recursive: true });
  expect(await codeHash(join(root, 'moved', 'agent.mjs'))).toBe(hashes.at(-1));
  await expect(codeHash(join(dir, 'none.mjs'))).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
