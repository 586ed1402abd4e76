import { resolve } from 'node:path';

/** The Python with the client and JAX, made by `node infra/tooling/test-python.mjs`. */
export const clientPython = resolve('.turnstream', 'python', 'bin', 'python');
