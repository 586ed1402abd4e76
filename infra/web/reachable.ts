// Checks whether the servers of the tools respond, without calling the tools: a search may cost money.
import { request } from 'undici';
import { messageOf, PlatformError } from '../../streams/core/errors.ts';
import { pause } from '../lifecycle/waiting.ts';

const TIMEOUT_MS = 10_000;
const WAITS_MS = [500, 1_500] as const;

/** Any response below 500 will do: a server need not support HEAD or know this path. Throws TOOLS_UNAVAILABLE. */
export async function assertReachable(name: string, url: string, signal: AbortSignal): Promise<void> {
  for (let tried = 0; ; tried += 1) {
    const failure = await failureOf(url, signal);
    if (failure === undefined) return;
    signal.throwIfAborted();
    const waitMs = WAITS_MS[tried];
    if (waitMs === undefined) throw new PlatformError('TOOLS_UNAVAILABLE', `contacting the ${name} server: ${failure}`);
    await pause(waitMs, signal);
  }
}

async function failureOf(url: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { statusCode, body } = await request(url, { method: 'HEAD', signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) });
    await body.dump();
    return statusCode < 500 || statusCode === 501 ? undefined : `HTTP ${statusCode}`;
  } catch (error) {
    return messageOf(error);
  }
}
