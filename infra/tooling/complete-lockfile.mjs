// Adds the optional platform packages that the current registry lacks to package-lock.json: npm leaves them out when it writes the file,
// and `npm ci` then rejects the file as incomplete. Run it after a change of dependencies.
import { readFileSync, writeFileSync } from 'node:fs';

const PATH = 'package-lock.json';
const lock = JSON.parse(readFileSync(PATH, 'utf8'));
const platforms = {
  darwin: 'darwin',
  win32: 'win32',
  linux: 'linux',
  linuxmusl: 'linux',
  android: 'android',
  freebsd: 'freebsd',
  openharmony: 'openharmony',
  wasm32: undefined,
};
const cpus = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'wasm32'];
let added = 0;
for (const [path, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    if (path === '' || lock.packages[`node_modules/${name}`] !== undefined || lock.packages[`${path}/node_modules/${name}`] !== undefined)
      continue;
    const words = name.split(/[/-]/);
    const os = words.map((word) => platforms[word]).find((word) => word !== undefined);
    const cpu = cpus.find((known) => words.includes(known));
    lock.packages[`node_modules/${name}`] = {
      version,
      ...(cpu === undefined ? {} : { cpu: [cpu] }),
      ...(parent.dev === true ? { dev: true } : {}),
      optional: true,
      ...(os === undefined ? {} : { os: [os] }),
    };
    added += 1;
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(PATH, `${JSON.stringify(lock, null, 2)}\n`);
process.stderr.write(`${added} optional packages added to ${PATH}\n`);
