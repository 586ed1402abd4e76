import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { dashboardTokenOf, keepDashboardToken, withDashboardToken } from './dashboard-token.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'turnstream-token-'));
});
afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

it('makes a new automatic token at each start, which other commands can read', () => {
  const auto = { dashboardToken: 'auto', dataDir };
  expect(dashboardTokenOf(auto)).toBe('');
  const path = join(dataDir, 'dashboard-token');
  writeFileSync(path, 'of an earlier start', { mode: 0o644 });
  const [first, second] = [0, 1].map(() => {
    const known = withDashboardToken(auto);
    keepDashboardToken(auto, known);
    return known.dashboardToken;
  });
  expect(first).toMatch(/^[\w-]{32}$/);
  expect(second).not.toBe(first);
  expect(dashboardTokenOf(auto)).toBe(second);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('uses a configured token, or none, and writes no file', () => {
  for (const dashboardToken of ['', 'a-token-of-my-own']) {
    const asked = { dashboardToken, dataDir };
    keepDashboardToken(asked, withDashboardToken(asked));
    expect(withDashboardToken(asked).dashboardToken).toBe(dashboardToken);
    expect(existsSync(join(dataDir, 'dashboard-token'))).toBe(false);
    expect(dashboardTokenOf({ dashboardToken, dataDir })).toBe(dashboardToken);
  }
});
