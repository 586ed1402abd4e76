import { resolve } from 'node:path';

/** Path of the Python interpreter of the environment that `node infra/tooling/test-python.mjs` makes, with the client and JAX. */
export const clientPython = resolve('.turnstream', 'python', 'bin', 'python');
