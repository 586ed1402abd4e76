// The virtual environment of the Python client, its tests and its examples: made on first use in .turnstream/python.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const clientFolder = join('infra', 'clients', 'python');
const home = resolve('.turnstream', 'python');
export const python = join(home, 'bin', 'python');

export const run = (file, args, options = {}) => spawnSync(file, args, { stdio: 'inherit', ...options }).status === 0;

/** Installs the client with an extra, then runs pip with the other arguments, if any; false if a step fails. */
export function install(extra, ...others) {
  mkdirSync(resolve('.turnstream'), { recursive: true });
  if (!existsSync(python) && !run('python3', ['-m', 'venv', home])) return false;
  const pip = ['-m', 'pip', 'install', '-q', '--disable-pip-version-check'];
  return run(python, [...pip, '--editable', `${clientFolder}[${extra}]`]) && (others.length === 0 || run(python, [...pip, ...others]));
}
