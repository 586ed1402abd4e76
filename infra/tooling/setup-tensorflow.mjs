// npm run setup:tensorflow: makes @tensorflow/tfjs-node-gpu usable where its own download fails. Compiles its native binding against the
// TensorFlow library of a wheel from PyPI. Safe to repeat: it does nothing when the binding loads, and the results of finished steps are
// kept under <data dir>/tensorflow. Plain JavaScript: it runs before any build.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, linkSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const PACKAGE = '@tensorflow/tfjs-node-gpu';
const HEADERS = 'node-api-headers@1.5.0';
const flavours = {
  cpu: { wheel: 'tensorflow-cpu', version: '2.15.1', size: '207 MB' },
  gpu: { wheel: 'tensorflow', version: '2.18.1', size: '616 MB' },
};
const libraries = ['libtensorflow_cc.so.2', 'libtensorflow_framework.so.2'];

const help = `usage: npm run setup:tensorflow -- [--gpu] [--prebuilt] [--force]

Makes the tfjs-node-gpu backend usable: compiles its binding against TensorFlow's wheel (${flavours.cpu.size} to download).
  --gpu       TensorFlow with CUDA (${flavours.gpu.size}); without a GPU it computes on the CPU
  --prebuilt  try the package's own download first
  --force     build again although the binding loads
Needs Linux on x64, g++, and python3 with pip. Data directory: TURNSTREAM_DATA_DIR, else .turnstream.
`;

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const packageDir = join(root, 'node_modules', PACKAGE);
const say = (line) => process.stderr.write(`setup:tensorflow: ${line}\n`);

class SetupError extends Error {}

/** Runs a program to its end; shows its output only on failure. */
function run(program, args, { cwd = root, what }) {
  const result = spawnSync(program, args, { cwd, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (result.status === 0) return result.stdout;
  const output = `${result.error?.message ?? ''}${result.stdout ?? ''}${result.stderr ?? ''}`.trim();
  throw new SetupError(`${what} failed:\n${output.split('\n').slice(-30).join('\n')}`);
}

const npm = (args, what) => run(process.platform === 'win32' ? 'npm.cmd' : 'npm', args, { what });

/** TensorFlow's version when the binding loads and computes, else the problem. */
function loadedVersion() {
  const script = `
    const util = require('node:util');
    util.isNullOrUndefined ??= (value) => value == null;
    util.isArray ??= Array.isArray;
    const tf = require(${JSON.stringify(packageDir)});
    if (tf.matMul(tf.tensor2d([[2]]), tf.tensor2d([[3]])).dataSync()[0] !== 6) process.exit(1);
    process.stdout.write('version ' + tf.backend().binding.TF_Version);`;
  const env = { ...process.env, TF_CPP_MIN_LOG_LEVEL: '2' };
  const result = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', env });
  const version = /version (\S+)/.exec(result.stdout)?.[1];
  return result.status === 0 && version !== undefined ? { version } : { problem: result.stderr.trim().split('\n').slice(-8).join('\n') };
}

function ensurePackage() {
  if (existsSync(join(packageDir, 'package.json'))) return;
  const version = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).optionalDependencies[PACKAGE];
  say(`installing ${PACKAGE}@${version} without its install script`);
  npm(['install', '--no-save', '--ignore-scripts', `${PACKAGE}@${version}`], `installing ${PACKAGE}`);
}

function tryPrebuilt(kind) {
  say("trying the package's own download");
  const result = spawnSync(process.execPath, ['scripts/install.js', kind, 'download'], {
    cwd: packageDir,
    encoding: 'utf8',
    timeout: 600_000,
  });
  const reason = result.error?.message ?? /^.*error.*$/im.exec(result.stderr)?.[0] ?? `exit code ${result.status}`;
  if (result.status !== 0) say(`it failed (${reason.trim()})`);
}

function assertToolchain() {
  const missing = [];
  const works = (program, args) => spawnSync(program, args, { encoding: 'utf8' }).status === 0;
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    missing.push(`Linux on x64 (this is ${process.platform} on ${process.arch}): use --prebuilt, or TURNSTREAM_BACKEND=wasm`);
  }
  if (!works('g++', ['--version'])) missing.push('a C++17 compiler called g++ (Debian, Ubuntu: apt install g++)');
  if (!works('python3', ['--version'])) missing.push('python3 (Debian, Ubuntu: apt install python3 python3-pip)');
  else if (!works('python3', ['-m', 'pip', '--version'])) missing.push('pip for python3 (Debian, Ubuntu: apt install python3-pip)');
  if (missing.length > 0) throw new SetupError(`compiling the binding needs what is missing here:\n- ${missing.join('\n- ')}`);
}

/** Directory with the library and the headers of the wheel; only these are extracted, and the wheel is deleted. */
function unpackedWheel(cache, { wheel, version, size }) {
  const unpacked = join(cache, `${wheel}-${version}`);
  if (existsSync(unpacked)) return unpacked;
  const partial = join(cache, `${wheel}-${version}.${process.pid}.partial`);
  mkdirSync(partial, { recursive: true });
  try {
    say(`downloading ${wheel} ${version} (${size})`);
    // any Python works: the wheel's Python code never runs
    const target = ['--python-version', '3.11', '--implementation', 'cp', '--abi', 'cp311', '--platform', 'manylinux_2_17_x86_64'];
    const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary', ':all:', ...target, '--dest', partial];
    run('python3', [...download, `${wheel}==${version}`], { what: `downloading ${wheel} ${version} with pip` });
    const file = readdirSync(partial).find((name) => name.endsWith('.whl'));
    say('unpacking the library and its headers');
    const members = [
      'import re, sys, zipfile',
      'wheel = zipfile.ZipFile(sys.argv[1])',
      `wanted = re.compile(r'tensorflow/(lib[a-z_]+\\.so\\.2|include/(tensorflow|tsl|xla)/.*\\.h)$')`,
      'wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if wanted.match(name)])',
    ].join('\n');
    run('python3', ['-c', members, join(partial, file), partial], { what: `unpacking ${file}` });
    rmSync(join(partial, file));
    renameSync(partial, unpacked);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  return unpacked;
}

/** Directory with node_api.h: from the running Node's installation, else from npm. */
function nodeHeaders(cache) {
  const beside = resolve(dirname(process.execPath), '../include/node');
  if (existsSync(join(beside, 'node_api.h'))) return beside;
  const installed = join(cache, 'headers', 'node_modules', 'node-api-headers', 'include');
  if (!existsSync(join(installed, 'node_api.h'))) {
    say(`installing ${HEADERS}: there are no headers beside ${process.execPath}`);
    mkdirSync(join(cache, 'headers'), { recursive: true });
    npm(['install', '--prefix', join(cache, 'headers'), '--no-save', '--ignore-scripts', HEADERS], `installing ${HEADERS}`);
  }
  return installed;
}

/** On the same disk, the library is linked instead of copied: it has 600 MB. */
function placeLibraries(from) {
  const to = join(packageDir, 'deps', 'lib');
  mkdirSync(to, { recursive: true });
  for (const name of libraries) {
    const partial = join(to, `${name}.${process.pid}.partial`);
    try {
      linkSync(join(from, 'tensorflow', name), partial);
    } catch {
      copyFileSync(join(from, 'tensorflow', name), partial);
    }
    renameSync(partial, join(to, name));
  }
  return to;
}

function compile({ include, headers, lib }) {
  say('compiling the binding (about 20 s)');
  const to = join(packageDir, 'lib', 'napi-v8');
  mkdirSync(to, { recursive: true });
  const partial = join(to, `tfjs_binding.${process.pid}.partial`);
  const sources = ['binding/tfjs_backend.cc', 'binding/tfjs_binding.cc'];
  const flags = ['-std=c++17', '-O2', '-fPIC', '-shared', '-w', '-DNAPI_VERSION=8', `-I${headers}`, `-I${include}`, '-I.'];
  const link = [`-L${lib}`, ...libraries.map((name) => `-l:${name}`), '-Wl,-rpath,$ORIGIN/../../deps/lib'];
  run('g++', [...flags, ...sources, ...link, '-o', partial], { cwd: packageDir, what: 'compiling the binding with g++' });
  renameSync(partial, join(to, 'tfjs_binding.node'));
}

const stampFile = join(packageDir, 'deps', 'turnstream.json');

function builtKind() {
  return existsSync(stampFile) ? JSON.parse(readFileSync(stampFile, 'utf8')).kind : undefined;
}

function main() {
  const options = {
    gpu: { type: 'boolean' },
    prebuilt: { type: 'boolean' },
    force: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  };
  const { values } = parseArgs({ options });
  if (values.help) return process.stdout.write(help);
  const kind = values.gpu ? 'gpu' : 'cpu';
  ensurePackage();
  const present = values.force ? {} : loadedVersion();
  if (present.version !== undefined && (kind === 'cpu' || builtKind() !== 'cpu')) return say(`in place: TensorFlow ${present.version}`);
  if (values.prebuilt) {
    tryPrebuilt(kind);
    const { version } = loadedVersion();
    if (version !== undefined) return say(`ready: TensorFlow ${version}`);
  }
  assertToolchain();
  const cache = resolve(root, process.env.TURNSTREAM_DATA_DIR ?? '.turnstream', 'tensorflow');
  mkdirSync(cache, { recursive: true });
  const unpacked = unpackedWheel(cache, flavours[kind]);
  const lib = placeLibraries(unpacked);
  compile({ include: join(unpacked, 'tensorflow', 'include'), headers: nodeHeaders(cache), lib });
  writeFileSync(stampFile, `${JSON.stringify({ kind, ...flavours[kind] })}\n`);
  const built = loadedVersion();
  if (built.version === undefined) throw new SetupError(`the binding was compiled but does not load:\n${built.problem}`);
  return say(
    `ready: TensorFlow ${built.version}${kind === 'gpu' ? '; with a GPU it needs its driver and the CUDA and cuDNN libraries' : ''}`,
  );
}

try {
  main();
} catch (error) {
  if (!(error instanceof SetupError) && error?.code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw error;
  process.stderr.write(`setup:tensorflow: ${error.message}\n`);
  process.exitCode = 2;
}
