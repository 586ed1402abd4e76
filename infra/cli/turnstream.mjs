#!/usr/bin/env node
// The entry point. Plain JavaScript that any Node version parses, so that an unsupported version gets a clear message.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`starting turnstream: Node ${process.versions.node} is too old; install Node 20.19 or newer\n`);
  process.exit(2);
}

// Caches compiled code between starts, if Node supports it.
module.enableCompileCache?.();

const built = new URL('../../dist/infra/cli/main.js', import.meta.url);
if (!existsSync(fileURLToPath(built))) {
  const { register } = await import('tsx/esm/api').catch(() => {
    process.stderr.write('starting turnstream: it is not built; run npm ci, or npm run build\n');
    process.exit(2);
  });
  register();
}
const source = new URL('./main.ts', import.meta.url);
const { main } = await import((existsSync(fileURLToPath(built)) ? built : source).href);
await main(process.argv.slice(2), fileURLToPath(import.meta.url));
