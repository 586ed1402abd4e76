// The owner's side of the learner's thread: requests in, responses out, in order. The thread keeps the process alive only while a request
// is pending. When it dies, pending and later requests are rejected with the cause.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { SHARE_ENV, Worker, type WorkerOptions } from 'node:worker_threads';
import { messageOf, PlatformError } from '../../streams/core/errors.ts';
import type { Logger } from '../../streams/core/ports.ts';
import type { LearnerAnswers, LearnerSettings, LearnerReply, LearnerRequest } from './learner-protocol.ts';

/** A running learner thread. */
export interface LearnerThread {
  /** Name of the loaded backend. */
  readonly backend: string;
  /** `transfer` is moved to the thread: it cannot be used here afterwards. */
  ask<R extends LearnerRequest>(request: R, transfer?: readonly ArrayBuffer[]): Promise<LearnerAnswers[R['kind']]>;
  close(): Promise<void>;
}

type LearnerAnswer = LearnerAnswers[keyof LearnerAnswers];

interface LearnerCall {
  readonly resolve: (answer: LearnerAnswer) => void;
  readonly reject: (error: PlatformError) => void;
}

const NEXT = 'restart the trainer; it continues from its last step';

/** Starts the thread. A built file runs directly; a source file needs the TypeScript loader, which a thread does not inherit. */
export function openWorker(settings: LearnerSettings): Worker {
  // the native library reads the real environment; by default a thread has only a copy
  const options: WorkerOptions = { workerData: settings, env: SHARE_ENV, execArgv: [], name: 'learner' };
  if (!import.meta.url.endsWith('.ts')) return new Worker(new URL('./learner.worker.js', import.meta.url), options);
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx/esm/api')).href.replace(/\.cjs$/, '.mjs');
  const file = new URL('./learner.worker.ts', import.meta.url).href;
  const script = `import { register } from ${JSON.stringify(loader)}; register(); await import(${JSON.stringify(file)});`;
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`), options);
}

/** Pending calls to `worker`. */
function createCalls(worker: Worker) {
  const waiting = new Map<number, LearnerCall>();
  let ended: PlatformError | undefined;
  let count = 0;
  const take = (id: number): LearnerCall | undefined => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (waiting.size === 0) worker.unref();
    return call;
  };
  return {
    ended: () => ended,
    /** Rejects later calls; pending ones are still answered. */
    refuse(reason: PlatformError): void {
      ended ??= reason;
    },
    end(reason: PlatformError): void {
      ended ??= reason;
      for (const id of [...waiting.keys()]) take(id)?.reject(ended);
    },
    ask(request: LearnerRequest, transfer: readonly ArrayBuffer[]): Promise<LearnerAnswer> {
      const refusal = ended;
      if (refusal !== undefined) return Promise.reject(refusal);
      return new Promise((resolve, reject) => {
        count += 1;
        waiting.set(count, { resolve, reject });
        worker.ref();
        worker.postMessage({ id: count, request }, transfer);
      });
    },
    accept(reply: LearnerReply): void {
      if (reply.kind === 'answer') take(reply.id)?.resolve(reply.answer);
      if (reply.kind === 'refusal') take(reply.id)?.reject(new PlatformError(reply.code, reply.message));
    },
  };
}

/** Waits until the thread has loaded its backend; throws BACKEND_UNAVAILABLE when it cannot. */
export async function startThread(worker: Worker, logger: Logger | undefined): Promise<LearnerThread> {
  const calls = createCalls(worker);
  worker.on('message', (reply: LearnerReply) => {
    if (reply.kind === 'log') logger?.[reply.level](reply.fields, reply.message);
    calls.accept(reply);
  });
  worker.on('error', (cause) => {
    calls.end(new PlatformError('INTERNAL', `training: the learner thread crashed (${messageOf(cause)}); ${NEXT}`, { cause }));
  });
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', (code) => {
      calls.end(new PlatformError('INTERNAL', `training: the learner thread ended with code ${code}; ${NEXT}`));
      resolve();
    });
  });
  const backend = await Promise.race([backendOf(worker), exited]);
  if (backend === undefined) throw calls.ended() ?? new PlatformError('INTERNAL', 'starting the learner thread: it ended at once');
  worker.unref();
  return {
    backend,
    ask: (request, transfer = []) => calls.ask(request, transfer) as Promise<LearnerAnswers[(typeof request)['kind']]>,
    async close() {
      const closing = calls.ask({ kind: 'close' }, []).catch(() => undefined);
      calls.refuse(new PlatformError('INTERNAL', 'training: the learner was closed'));
      await closing;
      worker.ref(); // otherwise the process could end before the thread
      await exited;
    },
  };
}

function backendOf(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    worker.on('message', function onMessage(reply: LearnerReply) {
      if (reply.kind === 'ready') resolve(reply.backend);
      else if (reply.kind === 'failed') reject(new PlatformError(reply.code, reply.message));
      else return;
      worker.off('message', onMessage);
    });
  });
}
