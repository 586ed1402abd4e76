// The coordinator of a run in another process. Calls are forwarded unchanged with the key of the caller; refusals are passed back.
import { isErrorCode, messageOf, PlatformError } from '../../streams/core/errors.ts';
import type { Coordinator } from '../../streams/leases/coordinator.ts';

/** The longest wait that a lease can request, and the time that a call may take in addition, ms. */
const PATIENCE_MS = 60_000;

/** Headers that are passed on with the rows of the coordinator. */
const PASSED_ON = ['etag', 'vary', 'cache-control', 'accept-ranges', 'content-type', 'content-range', 'content-length'] as const;

const present = (headers: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

export interface RemoteCoordinatorOptions {
  readonly url: string;
  /** Those of the caller: the coordinator checks the key. */
  readonly headers: Readonly<Record<string, string>>;
}

interface CoordinatorCall {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export function remoteCoordinator({ url, headers }: RemoteCoordinatorOptions): Coordinator {
  async function send({ path, headers: more = {}, body, signal }: CoordinatorCall): Promise<Response> {
    // limits the time until the response begins: reading rows takes as long as the client needs
    const limit = new AbortController();
    const timer = setTimeout(() => {
      limit.abort();
    }, PATIENCE_MS * 2);
    const how = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, {
      ...{ ...how, headers: { ...headers, ...type, ...more }, redirect: 'error' },
      signal: signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]),
    })
      .catch((cause: unknown) => {
        throw new PlatformError('COORDINATOR_UNAVAILABLE', `asking the coordinator at ${url}: ${messageOf(cause)}`, { cause });
      })
      .finally(() => {
        clearTimeout(timer);
      });
    if (!response.ok && response.status !== 304) throw await refusalOf(response);
    return response;
  }
  const post = async <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
    (await (await send({ path, body, ...(signal === undefined ? {} : { signal }) })).json()) as T;
  const batchPath = (id: string, what: string): string => `/v1/batches/${encodeURIComponent(id)}${what}`;

  return {
    claim: (run, request) => post(`/v1/runs/${run}/trainer`, request),
    async lease(run, request, signal) {
      const response = await send({ path: `/v1/runs/${run}/batches:lease`, body: request, signal });
      return response.status === 204 ? undefined : ((await response.json()) as never);
    },
    publish: (run, request) => post(`/v1/runs/${run}/policies`, request),
    async rows(batchId, { shard, accept, ifNoneMatch, range, ifRange }) {
      const query = shard === undefined ? '' : `?shard=${encodeURIComponent(shard)}`;
      const asked = { accept, 'if-none-match': ifNoneMatch, range, 'if-range': ifRange };
      const { status, headers: found, body } = await send({ path: batchPath(batchId, `/rows${query}`), headers: present(asked) });
      const told = Object.fromEntries(PASSED_ON.map((name) => [name, found.get(name) ?? undefined]));
      return {
        status: status as 200,
        headers: present(told),
        body: body === null || status === 304 ? undefined : (body as AsyncIterable<Buffer>),
      };
    },
    extend: (batchId, request) => post(batchPath(batchId, ':extend'), request),
    commit: (batchId, request) => post(batchPath(batchId, ':commit'), request),
    release: (batchId, request) => post(batchPath(batchId, ':release'), request),
  };
}

async function refusalOf(response: Response): Promise<PlatformError> {
  const problem = (await response.json().catch(() => ({}))) as Readonly<Record<string, unknown>>;
  const { code, detail, restore } = problem;
  const known = isErrorCode(code) ? code : 'COORDINATOR_UNAVAILABLE';
  const message = typeof detail === 'string' ? detail : `asking the coordinator: it answered ${response.status}`;
  return new PlatformError(known, message, restore === undefined ? {} : { context: { restore } });
}
