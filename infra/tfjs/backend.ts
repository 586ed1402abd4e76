// The tensor backend of this process. Invariants: one instance of tfjs-core; a backend is loaded at most once per thread; loading changes
// no listener of the process. A crash of the native library ends the process; a restart rebuilds its state from the log.
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import util from 'node:util';
import * as tf from '@tensorflow/tfjs-core';
import type { Config } from '../config/descriptors.ts';
import { messageOf, PlatformError } from '../../streams/core/errors.ts';
import type { Logger } from '../../streams/core/ports.ts';

/** Every backend, best first. */
export const backendNames = ['tfjs-node-gpu', 'tfjs-node', 'wasm', 'cpu'] as const;
export type BackendName = (typeof backendNames)[number];

/** A tensor backend that is loaded and has passed a test computation. */
export interface Backend {
  readonly name: BackendName;
  /** Description of the device, e.g. "TensorFlow 2.15.1 on the CPU". */
  readonly device: string;
  /** Runs `work` on this backend and frees every tensor that it creates without tf.keep. */
  compute<T>(work: () => T): T;
}

interface Loaded {
  readonly engineName: string;
  readonly device: string;
}

const require = createRequire(import.meta.url);

const loaders: Readonly<Record<BackendName, () => Promise<Loaded>>> = {
  'tfjs-node-gpu': async () => loadNative('@tensorflow/tfjs-node-gpu'),
  'tfjs-node': async () => loadNative('@tensorflow/tfjs-node'),
  wasm: loadWasm,
  cpu: loadCpu,
};

const loaded = new Map<BackendName, Promise<Backend>>();

/**
 * Loads the configured backend, or with `auto` the first one that loads here; throws BACKEND_UNAVAILABLE when the configured one does not
 * load. Logs the choice, and which backends were skipped and why.
 */
export async function loadBackend(preferred: Config['backend'], logger?: Logger): Promise<Backend> {
  if (preferred !== 'auto') {
    const backend = await loadNamed(preferred).catch((cause: unknown) => {
      throw new PlatformError('BACKEND_UNAVAILABLE', `loading tensor backend ${preferred}: ${messageOf(cause)}; ${adviceFor(preferred)}`, {
        cause,
      });
    });
    logger?.info({ backend: backend.name, device: backend.device, reason: 'configured' }, 'tensor backend chosen');
    return backend;
  }
  const failures: string[] = [];
  for (const name of backendNames) {
    try {
      const backend = await loadNamed(name);
      const reason = failures.length === 0 ? 'the best there is' : `the best that loads (${failures.join('; ')})`;
      logger?.info({ backend: name, device: backend.device, reason }, 'tensor backend chosen');
      return backend;
    } catch (error) {
      failures.push(`${name}: ${messageOf(error)}`);
      logger?.debug({ backend: name, error: messageOf(error) }, 'tensor backend passed over');
    }
  }
  throw new PlatformError('BACKEND_UNAVAILABLE', `loading a tensor backend: none loads (${failures.join('; ')}); install the dependencies`);
}

const adviceFor = (name: BackendName): string =>
  name === 'tfjs-node-gpu'
    ? 'run npm run setup:tensorflow, or leave TURNSTREAM_BACKEND unset'
    : 'install it, or leave TURNSTREAM_BACKEND unset to use the best one that loads';

function loadNamed(name: BackendName): Promise<Backend> {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const loading = open(name);
  loaded.set(name, loading);
  return loading.catch((error: unknown) => {
    loaded.delete(name);
    throw error;
  });
}

async function open(name: BackendName): Promise<Backend> {
  tf.env().set('PROD', true); // no banner, no argument checks
  const { engineName, device } = await withoutNewListeners(async () => {
    const result = await loaders[name]();
    if (!(await tf.setBackend(result.engineName))) throw new Error(`${result.engineName} did not start`);
    await tf.ready();
    return result;
  });
  const backend: Backend = {
    name,
    device,
    compute<T>(work: () => T): T {
      // an initialized backend becomes current synchronously, before setBackend returns
      if (tf.getBackend() !== engineName) void tf.setBackend(engineName);
      const results: T[] = [];
      // not returned from tidy, which would search every array element for tensors
      tf.tidy(() => {
        results.push(work());
      });
      return results[0] as T;
    },
  };
  const probe = backend.compute(() => tf.matMul(tf.tensor2d([1, 2], [1, 2]), tf.tensor2d([3, 4], [2, 1])).dataSync());
  if (probe[0] !== 11) throw new Error('it computes wrong results');
  return backend;
}

/** Emscripten installs handlers that turn every unhandled rejection into an exit; they are removed again. */
async function withoutNewListeners<T>(work: () => Promise<T>): Promise<T> {
  const events = ['uncaughtException', 'unhandledRejection'];
  const before = events.map((event) => new Set(process.rawListeners(event)));
  try {
    return await work();
  } finally {
    events.forEach((event, i) => {
      for (const listener of process.rawListeners(event)) {
        if (before[i]?.has(listener) === false) process.removeListener(event, listener as () => void);
      }
    });
  }
}

interface NativeModule {
  readonly version: Readonly<Record<string, string>>;
}
interface NativeEngine {
  readonly isUsingGpuDevice: boolean;
  readonly binding: { readonly TF_Version: string };
}

function loadNative(packageName: string): Loaded {
  const manifest = findInstalled(packageName);
  if (!hasBinding(dirname(manifest))) throw new Error('its native binding is missing');
  quietNativeLibrary();
  holdToOneThread();
  restoreRemovedUtilities();
  require(packageName) as NativeModule;
  const native = tf.engine().findBackend('tensorflow') as unknown as NativeEngine;
  const where = native.isUsingGpuDevice ? 'a GPU' : 'the CPU';
  return { engineName: 'tensorflow', device: `TensorFlow ${native.binding.TF_Version} on ${where}` };
}

function findInstalled(packageName: string): string {
  try {
    return require.resolve(`${packageName}/package.json`);
  } catch {
    throw new Error('it is not installed');
  }
}

function hasBinding(packageDir: string): boolean {
  const lib = join(packageDir, 'lib');
  return existsSync(lib) && readdirSync(lib).some((entry) => existsSync(join(lib, entry, 'tfjs_binding.node')));
}

/** The native library reads its log level only from the environment, once, when it is loaded. */
function quietNativeLibrary(): void {
  // eslint-disable-next-line no-restricted-properties -- not our configuration: TensorFlow has no other switch
  process.env['TF_CPP_MIN_LOG_LEVEL'] ??= '2';
}

/**
 * The library splits sums among its threads, so the last bits of a result depend on their number: by default one per core. With one thread,
 * updates are identical on machines of any size, and faster for the built-in network.
 */
function holdToOneThread(): void {
  // eslint-disable-next-line no-restricted-properties -- not our configuration: TensorFlow has no other switch
  process.env['TF_NUM_INTRAOP_THREADS'] ??= '1';
}

/** tfjs-node calls two functions of node:util that Node 23 removed. */
function restoreRemovedUtilities(): void {
  const target = util as unknown as Record<string, unknown>;
  target['isNullOrUndefined'] ??= (value: unknown): boolean => value === null || value === undefined;
  target['isArray'] ??= Array.isArray;
}

async function loadWasm(): Promise<Loaded> {
  const wasm = await import('@tensorflow/tfjs-backend-wasm');
  const home = dirname(require.resolve('@tensorflow/tfjs-backend-wasm/package.json'));
  tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  wasm.setWasmPaths(`${join(home, 'wasm-out')}/`);
  return { engineName: 'wasm', device: 'WebAssembly, one thread' };
}

async function loadCpu(): Promise<Loaded> {
  await import('@tensorflow/tfjs-backend-cpu');
  return { engineName: 'cpu', device: 'plain JavaScript' };
}
