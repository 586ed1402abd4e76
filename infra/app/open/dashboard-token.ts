// The token of the dashboard. `auto` makes one at each start and keeps it in a file of the data directory that only its owner may read,
// so that commands in other terminals can ask the API.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/descriptors.ts';

type TokenConfig = Pick<Config, 'dashboardToken' | 'dataDir'>;

const AUTO = 'auto';
const fileOf = (dataDir: string): string => join(dataDir, 'dashboard-token');

/** The configuration with a token that is known; a new one for `auto`. */
export const withDashboardToken = <C extends TokenConfig>(config: C): C =>
  config.dashboardToken === AUTO ? { ...config, dashboardToken: randomBytes(24).toString('base64url') } : config;

/** Writes a token that was made for `auto` to its file; call it once this process owns the data directory. */
export function keepDashboardToken(asked: TokenConfig, { dashboardToken, dataDir }: TokenConfig): void {
  if (asked.dashboardToken !== AUTO) return;
  mkdirSync(dataDir, { recursive: true });
  const path = fileOf(dataDir);
  // an existing file would keep its mode
  rmSync(path, { force: true });
  writeFileSync(path, `${dashboardToken}\n`, { mode: 0o600 });
}

/** The token of the running API, for a command with the same data directory; empty for none. */
export function dashboardTokenOf({ dashboardToken, dataDir }: TokenConfig): string {
  if (dashboardToken !== AUTO) return dashboardToken;
  try {
    return readFileSync(fileOf(dataDir), 'utf8').trim();
  } catch {
    return '';
  }
}
