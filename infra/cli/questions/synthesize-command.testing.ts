import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { startLlmServer, type LlmServer } from '../../testing/llm-server.ts';

export let server: LlmServer;

let dir = '';

/** Call it at the top level of a test file. */
export function setUpSynthesizeCommand(): void {
  beforeAll(async () => {
    server = await startLlmServer();
    dir = mkdtempSync(join(tmpdir(), 'turnstream-synthesize-'));
  });
  afterAll(async () => {
    await server.close();
    rmSync(dir, { recursive: true, force: true });
  });
}

export const file = (name: string, text?: string): string => {
  if (text !== undefined) writeFileSync(join(dir, name), text);
  return join(dir, name);
};

export const linesOf = (name: string): Record<string, unknown>[] =>
  readFileSync(file(name), 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

export const env = (more: Record<string, string> = {}): Record<string, string> => ({
  TURNSTREAM_DATA_DIR: dir,
  TURNSTREAM_LOG_LEVEL: 'silent',
  ...more,
});
