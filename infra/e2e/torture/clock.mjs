// Preload of the roles of a torture, `--import=<this file>?clocks=<directory>`: their wall clock is wrong by as many
// milliseconds as the file there says that is named after the role, from one moment to the next. Timers and performance.now() keep running at their own pace, as they do on a machine
// whose clock jumps. Plain JavaScript, for it also runs in processes that load no TypeScript.
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
