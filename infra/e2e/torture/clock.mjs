// Preload of the roles of a torture, `--import=<this file>?clocks=<directory>`: their wall clock is wrong by as many
// milliseconds as the file there says that is named after the role, from one moment to the next. Timers and performance.now() keep running at their own pace, as they do on a machine
// whose clock jumps. Plain JavaScript, for it also runs in processes that load no TypeScript.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const LOOK_MS = 50;
const dir = new URL(import.meta.url).searchParams.get('clocks');
const file = join(dir ?? '', process.argv[2] ?? '');
const Original = globalThis.Date;
const trueNow = Original.now.bind(Original);
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

if (dir !== null) {
  const now = () => trueNow() + shift();
  Original.now = now;
  const Shifted = new Proxy(Original, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: (target) => new target(now()).toString(),
  });
  Original.prototype.constructor = Shifted;
  globalThis.Date = Shifted;
}
