// The main loop of the learner's thread: loads the backend, then answers requests one at a time. A failed request is answered with its
// error and leaves the state unchanged; any other error ends the thread, which the owner reports.
import type { MessagePort } from 'node:worker_threads';
import type { ReachPoint } from '../../streams/core/crash-points.ts';
import { isPlatformError, messageOf, type ErrorCode } from '../../streams/core/errors.ts';
import type { Checkpoint } from '../../streams/core/learning.ts';
import type { Logger } from '../../streams/core/ports.ts';
import { reachFor } from '../lifecycle/crash-at.ts';
import { loadBackend, type Backend } from './backend.ts';
import type { LearnerAnswers, LearnerSettings, LearnerReply, LearnerRequest, WireCheckpoint } from './learner-protocol.ts';
import { createUpdater, type Updater } from './updater.ts';

const codeOf = (error: unknown): ErrorCode => (isPlatformError(error) ? error.code : 'INTERNAL');

const wire = ({ weights, optimizer }: Checkpoint): WireCheckpoint => ({
  weights: new Uint8Array(weights),
  optimizer: new Uint8Array(optimizer),
});

/** Serves a learner at `port` until it receives a close request. */
export async function serveLearner(port: MessagePort, settings: LearnerSettings): Promise<void> {
  const reply = (message: LearnerReply, transfer: readonly ArrayBuffer[] = []): void => {
    port.postMessage(message, transfer);
  };
  try {
    const reach = reachFor(settings.crashAt ?? '');
    const backend = reaching(await loadBackend(settings.backend, forwardLog(reply)), reach);
    const updater = createUpdater({ backend, architecture: settings.architecture, hyper: settings.hyper }, settings.replay);
    port.on('message', ({ id, request }: { readonly id: number; readonly request: LearnerRequest }) => {
      try {
        if (request.kind === 'train') reach('learner.update.before');
        const answer = answerTo(updater, request);
        reply({ kind: 'answer', id, answer }, answer === undefined ? [] : buffersOf(answer));
        if (request.kind === 'train') reach('learner.update.after');
      } catch (error) {
        reply({ kind: 'refusal', id, code: codeOf(error), message: messageOf(error) });
      }
      if (request.kind === 'close') port.close();
    });
    reply({ kind: 'ready', backend: backend.name });
  } catch (error) {
    reply({ kind: 'failed', code: codeOf(error), message: messageOf(error) });
    port.close();
  }
}

/** Reaches the crash point after each computation of an update: a pass, or an evaluation of the policy before or after. */
const reaching = (backend: Backend, reach: ReachPoint): Backend => ({
  name: backend.name,
  device: backend.device,
  compute(work) {
    const result = backend.compute(work);
    reach('learner.update.mid');
    return result;
  },
});

function answerTo(updater: Updater, request: LearnerRequest): LearnerAnswers[keyof LearnerAnswers] {
  switch (request.kind) {
    case 'initial':
      return wire(updater.initial(request.seed));
    case 'restore':
      updater.restore(request, request.hyper);
      return undefined;
    case 'train': {
      const started = performance.now();
      const { metrics, ...checkpoint } = updater.train(request.packed);
      return { ...wire(checkpoint), metrics, trainMs: performance.now() - started };
    }
    case 'close':
      return undefined;
  }
}

const buffersOf = ({ weights, optimizer }: WireCheckpoint): ArrayBuffer[] =>
  [weights, optimizer].map((bytes) => bytes.buffer as ArrayBuffer);

function forwardLog(reply: (message: LearnerReply) => void): Logger {
  const forward =
    (level: keyof Logger) =>
    (fields: Record<string, unknown>, message: string): void => {
      reply({ kind: 'log', level, fields, message });
    };
  return { debug: forward('debug'), info: forward('info'), warn: forward('warn'), error: forward('error') };
}
