// What the settings of the workers stand for, beyond the names: the code of modules, and the addresses of servers.
import type { WorkerSettings } from '../../../consumers/trainer/settings.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { descriptors, type Config } from '../../config/descriptors.ts';
import { workerSettingsOf } from '../../config/learning.ts';
import { addressHash } from '../../config/withheld-addresses.ts';
import { codeHash } from './code-hash.ts';

type IdentitySettings = Readonly<Record<string, unknown>>;

/** The setting that has the address of each server. */
export const addressSettings = {
  model: 'llmUrl',
  retrieval: 'retrievalUrl',
  search: 'serperUrl',
  reader: 'jinaUrl',
} as const satisfies Readonly<Record<string, keyof Config>>;

type ServerName = keyof typeof addressSettings;

/** The servers that workers with these settings use. */
export function serversOf({ policy, tools, webReader }: IdentitySettings): readonly ServerName[] {
  const isUsed: Readonly<Record<ServerName, boolean>> = {
    model: policy === 'llm',
    retrieval: tools === 'local',
    search: tools === 'web',
    reader: tools === 'web' && webReader === 'jina',
  };
  return (Object.keys(addressSettings) as ServerName[]).filter((name) => isUsed[name]);
}

/** SHA-256 of the modules; those that a run recorded have precedence. Throws CONFIG_INVALID when a module cannot be read. */
export async function codeOf(settings: IdentitySettings, config: Config): Promise<Readonly<Record<string, string>>> {
  const hash = async (name: 'policy_sha256' | 'tools_sha256', path: string): Promise<Readonly<Record<string, string>>> => {
    const recorded = settings[name];
    return { [name]: typeof recorded === 'string' ? recorded : await codeHash(path) };
  };
  return {
    ...(settings['policy'] === 'module' ? await hash('policy_sha256', config.policyModule) : {}),
    ...(settings['toolsModule'] === undefined ? {} : await hash('tools_sha256', config.toolsModule)),
  };
}

/** Settings of the workers with the hashes of their code, to compare with those of a run. */
export async function settingsWithCode(config: Config): Promise<WorkerSettings> {
  const settings = workerSettingsOf(config);
  return { ...settings, ...(await codeOf(settings, config)) };
}

/** What a run records of its workers when it starts. The hashes of modules are missing where its trainer does not have the modules. */
export async function recordOfWorkers(config: Config): Promise<WorkerSettings> {
  const settings = await settingsWithCode(config).catch(() => workerSettingsOf(config));
  return { ...settings, ...addressHashes(settings, config) };
}

function addressHashes(settings: IdentitySettings, config: Config): Readonly<Record<string, string>> {
  const used = serversOf(settings).map((name) => addressSettings[name]);
  return Object.fromEntries(used.map((name) => [name, `sha256:${addressHash(config[name])}`]));
}

interface EvaluatedRun {
  readonly run: string;
  /** Settings that the run recorded of its workers. */
  readonly recorded: IdentitySettings;
}

/**
 * Throws RUN_CONFLICT when this process has another policy, another model, or other servers than the run was started with: what it learns
 * from them would be recorded as what the workers of the run use.
 */
export function assertSameServers({ run, recorded }: EvaluatedRun, config: Config): void {
  const model = recorded['policy'] === 'llm' ? { llmModel: config.llmModel } : {};
  const own: IdentitySettings = { policy: config.policy, ...model, ...addressHashes(recorded, config) };
  const names = Object.keys(own) as (keyof Config)[];
  const differing = names.filter((name) => recorded[name] !== undefined && recorded[name] !== own[name]);
  if (differing.length === 0) return;
  const settings = differing.map((name) => descriptors[name].env).join(', ');
  throw new PlatformError(
    'RUN_CONFLICT',
    `evaluating run ${run} on its workers: the run was started with other values of ${settings}; set the same values, or pass --concurrency to have a worker of this process answer`,
  );
}
