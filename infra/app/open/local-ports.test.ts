import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { rememberedPort } from './local-ports.ts';

it('a service reuses its port while no other program has it', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnstream-ports-'));
  onTestFinished(() => {
    rmSync(dataDir, { recursive: true });
  });
  const port = await rememberedPort(dataDir, 'store');
  expect(await rememberedPort(dataDir, 'store')).toBe(port);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  expect(await rememberedPort(dataDir, 'store')).not.toBe(port);
  await new Promise((resolve) => server.close(resolve));
  writeFileSync(join(dataDir, 'ports.json'), 'torn');
  expect(await rememberedPort(dataDir, 'store')).toBeGreaterThan(0);
});
