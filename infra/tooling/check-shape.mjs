// Rules of structure that no other tool checks: few files directly in some folders of infra, folders that do not import each other in a
// circle, short files, and each type name declared in one file, so that it has one meaning. Prints the counts, with `--names` also
// each repeated name with its files, and exits with 1 when a limit is exceeded.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const LIMITS = { room: 12, names: 0, allowed: 10, median: 90, p90: 200, longest: 350 };
/** Type names that several files may declare, with reasons. */
const ALLOWED = {
  LiveEvent: 'the same event, for users of the client package and for the dashboard; neither may import the other',
};
const GENERATED = /^(?:schemas\/generated\/|infra\/e2e\/clients\/|infra\/clients\/typescript\/schemas\.ts$)/;

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' }).split('\n');
const sources = files.filter((path) => /\.tsx?$/.test(path) && !GENERATED.test(path) && existsSync(path));
const textOf = new Map(sources.map((path) => [path, readFileSync(path, 'utf8')]));
let failed = false;

function count(what, found, limit) {
  if (found > limit) failed = true;
  process.stdout.write(`${found > limit ? 'over' : 'ok  '} ${what}: ${found}, limit ${limit}\n`);
}

for (const room of ['infra/app', 'infra/cli', 'infra/kafka']) {
  const inside = files.filter((path) => path.startsWith(`${room}/`) && !path.slice(room.length + 1).includes('/'));
  count(`files directly in ${room}`, inside.length, LIMITS.room);
}

// dependency-cruiser can compare folders, but not without their tests, which import more.
const FOLDER = /^(?:(?:streams|producers)\/[^/]+|infra\/(?:bench|e2e))(?=\/)/;
const TEST = /\.(?:test|contract|testing)\.tsx?$/;
const importedBy = new Map();
for (const [path, text] of textOf) {
  const folder = TEST.test(path) ? undefined : FOLDER.exec(path)?.[0];
  if (folder === undefined) continue;
  const targets = [...text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)].map(([, to]) => FOLDER.exec(join(dirname(path), to))?.[0]);
  importedBy.set(folder, new Set([...(importedBy.get(folder) ?? []), ...targets.filter((to) => to !== undefined && to !== folder)]));
}
function reachable(folder, seen = new Set()) {
  for (const next of importedBy.get(folder) ?? []) if (!seen.has(next)) reachable(next, seen.add(next));
  return seen;
}
const circular = [...importedBy.keys()].filter((folder) => reachable(folder).has(folder));
for (const folder of circular) process.stdout.write(`${folder} imports ${[...importedBy.get(folder)].join(' ')}\n`);
count('folders that import each other in a circle', circular.length, 0);

const filesOf = new Map();
const DECLARED = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|enum) (\w+)\b(?! *\}| *,)/gm;
for (const [path, text] of textOf) {
  // This generator contains declarations as text, which belong to the generated file.
  if (path === 'infra/tooling/generate-schemas.ts') continue;
  for (const [, name] of text.matchAll(DECLARED)) filesOf.set(name, new Set([...(filesOf.get(name) ?? []), path]));
}
const repeated = [...filesOf].filter(([, paths]) => paths.size > 1);
const shared = repeated.filter(([name]) => ALLOWED[name] === undefined);
const stale = Object.keys(ALLOWED).filter((name) => !repeated.some(([found]) => found === name));
if (process.argv.includes('--names')) for (const [name, paths] of shared) process.stdout.write(`${name}: ${[...paths].join(' ')}\n`);
count('type names declared in more than one file without a reason', shared.length, LIMITS.names);
count('type names declared in more than one file for a reason', Object.keys(ALLOWED).length, LIMITS.allowed);
count('reasons for names that only one file declares', stale.length, 0);

const lengths = [...textOf.values()].map((text) => text.split('\n').length - 1).sort((a, b) => a - b);
const quantile = (share) => lengths[Math.min(lengths.length - 1, Math.floor(lengths.length * share))];
count('median of lines of a file', quantile(0.5), LIMITS.median);
count('90th percentile of lines of a file', quantile(0.9), LIMITS.p90);
count('lines of the longest file', lengths.at(-1), LIMITS.longest);
process.exitCode = failed ? 1 : 0;
