// Shared by the tests of the store: a running store, and raw requests to it.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import { startStoreHere } from '../testing/store.ts';

export let store: Awaited<ReturnType<typeof startStoreHere>>;

beforeAll(async () => {
  store = await startStoreHere();
});

afterAll(() => store.stop());

export const KEY = { 'X-ClickHouse-Key': 'pass' };

interface RawResponse {
  readonly status: number;
  readonly text: string;
  readonly bytes: Buffer;
  readonly headers: Headers;
}

export async function ask(
  query: string | undefined,
  options: Omit<RequestInit, 'headers'> & { readonly url?: Record<string, string>; readonly headers?: Record<string, string> } = {},
): Promise<RawResponse> {
  const { url = {}, headers = {}, ...init } = options;
  const parameters = new URLSearchParams({ ...(query === undefined ? {} : { query }), ...url });
  const response = await fetch(`${store.url}/?${parameters.toString()}`, { method: 'POST', headers: { ...KEY, ...headers }, ...init });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, text: bytes.toString(), bytes, headers: response.headers };
}

export const freshTable = async (columns: string, settings = ''): Promise<string> => {
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  expect((await ask(`create table ${name} (${columns}) engine = MergeTree order by tuple() ${settings}`)).text).toBe('');
  return name;
};
