// `npm run bench <name> [-- flags]`: one bench per process, because a second one would profit from a warm process.
import { readdirSync } from 'node:fs';

const here = new URL('.', import.meta.url);
const suffix = import.meta.url.endsWith('.ts') ? '.bench.ts' : '.bench.js';
const names = readdirSync(here)
  .filter((file) => file.endsWith(suffix))
  .map((file) => file.slice(0, -suffix.length))
  .sort();

const [name = '', ...flags] = process.argv.slice(2);
if (names.includes(name)) {
  process.argv.splice(2, process.argv.length, ...flags);
  await import(new URL(`${name}${suffix}`, here).href);
} else {
  process.stderr.write(`npm run bench <name> [-- flags]; names: ${names.join(', ')}; each has --help\n`);
  process.exitCode = 2;
}
