// The only way to call the API. The result is a value or a problem with a code; nothing is thrown into a page.
import { signal } from '@preact/signals';

/** True if the API has recognized this browser by its session, whose cookie scripts cannot read. */
export const signedIn = signal(false);

export interface ApiProblem {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
}

export type ApiResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: ApiProblem };

const unreachable: ApiProblem = {
  status: 0,
  code: 'UNREACHABLE',
  detail: 'The API does not answer. The page keeps its data and tries again.',
};

interface ApiRequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** The response body as text. */
export async function askText(url: string, { method = 'GET', body, signal }: ApiRequestOptions = {}): Promise<ApiResult<string>> {
  try {
    const answer = await fetch(url, {
      method,
      credentials: 'same-origin',
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (answer.headers.has('x-turnstream-session')) signedIn.value = true;
    const text = await answer.text();
    return answer.ok ? { ok: true, value: text } : { ok: false, problem: problemOf(answer.status, text) };
  } catch {
    return { ok: false, problem: unreachable };
  }
}

export async function ask<T>(url: string, options: ApiRequestOptions = {}): Promise<ApiResult<T>> {
  const answer = await askText(url, options);
  return answer.ok ? parsed<T>(answer.value) : answer;
}

/** A body that is not JSON did not come from the API. */
export function parsed<T>(text: string): ApiResult<T> {
  try {
    return { ok: true, value: JSON.parse(text) as T };
  } catch {
    return { ok: false, problem: unreachable };
  }
}

function problemOf(status: number, text: string): ApiProblem {
  try {
    const { code, detail, title } = JSON.parse(text) as { code?: string; detail?: string; title?: string };
    return { status, code: code ?? `HTTP ${status}`, detail: detail ?? title ?? '' };
  } catch {
    return { status, code: `HTTP ${status}`, detail: text.slice(0, 300) };
  }
}

/** True for a problem that a retry may solve. */
export const isPassing = ({ status }: ApiProblem): boolean => status === 0 || status === 429 || status >= 500;
