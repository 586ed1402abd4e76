// `npm run check`: every check, as many at once as the machine has cores. Prints what each said when it has ended, and exits with 1 if one failed.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** Those that take longest first. */
const waiting = ['lint', 'types', 'dead-code', 'boundaries', 'format', 'reference', 'generated', 'shape'];
/** The longest ones need up to 2 GB each. */
const MOST = 4;

function check(name) {
  return new Promise((resolve) => {
    const child = spawn('npm', ['run', '--silent', `check:${name}`], { stdio: ['ignore', 'pipe', 'pipe'] });
    const said = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => said.push(part));
    child.once('close', (code) => {
      process.stdout.write(`${code === 0 ? 'ok    ' : 'FAILED'} check:${name}\n${Buffer.concat(said).toString()}`);
      resolve(code === 0);
    });
  });
}

let failed = false;
async function work() {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) failed = !(await check(name)) || failed;
}

await Promise.all(Array.from({ length: Math.min(MOST, availableParallelism()) }, work));
process.exitCode = failed ? 1 : 0;
