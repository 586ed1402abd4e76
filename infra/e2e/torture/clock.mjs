// Preload for the roles of a torture test, `--import=<this file>?clocks=<directory>`: shifts their wall clock by the number of milliseconds
// in the file that is named after the role, and follows changes of the file. Timers and performance.now() are unchanged, as on a machine
// whose clock jumps. Plain JavaScript, because it also runs in processes without TypeScript.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceDate } from '../../testing/replace-date.mjs';

const LOOK_MS = 50;
const dir = new URL(import.meta.url).searchParams.get('clocks');
const file = join(dir ?? '', process.argv[2] ?? '');
let shiftMs = 0;
let lookAgainMs = 0;

function shift() {
  const upMs = performance.now();
  if (upMs < lookAgainMs) return shiftMs;
  lookAgainMs = upMs + LOOK_MS;
  try {
    shiftMs = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    shiftMs = 0;
  }
  return shiftMs;
}

if (dir !== null) replaceDate((trueMs) => trueMs + shift());
