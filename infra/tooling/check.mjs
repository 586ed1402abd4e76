// `npm run check`: every check, up to four at once. Prints the output of each when it ends, and exits with 1 if one failed.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The slowest first. */
const waiting = ['lint', 'types', 'dead-code', 'boundaries', 'format', 'reference', 'generated', 'shape'];
/** Maximum number of checks at once: the slowest need up to 2 GB each. */
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
