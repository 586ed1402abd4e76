// Which role uses which secret. `up` gives a role these and no others, so that a process can leak only its own. The store, whose engine
// runs the SQL of users, gets none. A secret setting that is not in the table does not compile.
import { descriptors, type Config, type Descriptor } from './descriptors.ts';
import { hashedFields } from './learning.ts';
import { toEnv } from './load.ts';
import { withheldAddress } from './withheld-addresses.ts';

/** Roles that `up` starts. */
export const roleNames = ['store', 'api', 'warehouse', 'worker', 'trainer', 'evaluator'] as const;
export type RoleName = (typeof roleNames)[number];

type SecretKey = { [K in keyof typeof descriptors]: (typeof descriptors)[K] extends { readonly secret: true } ? K : never }[keyof Config];

/** Settings that are not secret but may contain a secret: a URL with a password, fields of a request with a key. */
type CarrierKey =
  'llmUrl' | 'llmExtra' | 'judgeUrl' | 'synthesisUrl' | 'synthesisCheckUrl' | 'retrievalUrl' | 'serperUrl' | 'jinaUrl' | 'initialPolicyUri';

/** Roles that read or write the log. */
const ofTheLog = ['api', 'warehouse', 'worker', 'trainer', 'evaluator'] as const;
/** Roles that query ClickHouse. The store reads its password from a file. */
const ofTheStore = ['api', 'warehouse'] as const;
/** Used by commands only. */
const ofCommands = [] as const;

/** The roles that use each secret. */
export const usersOf: Readonly<Record<SecretKey | CarrierKey, readonly RoleName[]>> = {
  clickhouseUrl: ofTheStore,
  clickhousePassword: ofTheStore,
  schemaRegistryUrl: ofTheLog,
  kafkaSaslPassword: ofTheLog,
  webhookUrl: ['api'],
  apiKeys: ['api', 'trainer'],
  engineKey: ['trainer'],
  initialPolicyUri: ['trainer'],
  dashboardToken: ['api'],
  llmUrl: ['worker', 'evaluator'],
  llmExtra: ['worker', 'evaluator'],
  llmApiKey: ['worker', 'evaluator'],
  retrievalUrl: ['worker', 'evaluator'],
  serperUrl: ['worker', 'evaluator'],
  serperApiKey: ['worker'],
  jinaUrl: ['worker', 'evaluator'],
  jinaApiKey: ['worker'],
  judgeUrl: ['worker'],
  judgeApiKey: ['worker'],
  synthesisUrl: ofCommands,
  synthesisApiKey: ofCommands,
  synthesisCheckUrl: ofCommands,
  synthesisCheckApiKey: ofCommands,
};

/** Settings that are invalid without the withheld one, and are withheld with it; only the roles that use that one need them. */
const companions: Partial<Record<keyof Config, readonly (keyof Config)[]>> = {
  apiKeys: ['apiHost', 'trainerHost'],
  initialPolicyUri: ['initialPolicySha256'],
};

/** Whether a role uses the secret in this configuration. The trainer checks API keys only if it serves external trainers. */
export function uses(role: RoleName, key: keyof typeof usersOf, { trainer }: Config): boolean {
  if (key === 'apiKeys' && role === 'trainer' && trainer !== 'external') return false;
  return usersOf[key].includes(role);
}

/** The default address is not secret. */
const withheldUnlessDefault =
  (key: 'serperUrl' | 'jinaUrl') =>
  ({ [key]: url }: Config): string =>
    url === descriptors[key].fallback ? url : withheldAddress(url);

/**
 * Placeholders for withheld settings that other settings need: the trainer records the policy and the tools of the workers with the run,
 * but needs only the hashes of their addresses.
 */
export const standIns: Partial<Record<keyof Config, (config: Config) => string>> = {
  llmUrl: ({ llmUrl }) => withheldAddress(llmUrl),
  judgeUrl: () => 'http://withheld.invalid',
  llmExtra: ({ llmExtra }) => hashedFields(llmExtra),
  retrievalUrl: ({ retrievalUrl }) => withheldAddress(retrievalUrl),
  serperUrl: withheldUnlessDefault('serperUrl'),
  jinaUrl: withheldUnlessDefault('jinaUrl'),
  serperApiKey: () => 'withheld',
};

/** The settings of a role as its environment, without the secrets of other roles. */
export function settingsFor(role: RoleName, config: Config): Readonly<Record<string, string>> {
  const withheld = (Object.keys(usersOf) as (keyof typeof usersOf)[]).filter((key) => !uses(role, key, config));
  const all: (keyof Config)[] = withheld.flatMap((key) => [key, ...(companions[key] ?? [])]);
  const envOf = (key: keyof Config): string => (descriptors[key] as Descriptor).env;
  const names = new Set(all.map(envOf));
  const stands = withheld.flatMap((key) => {
    const standIn = standIns[key]?.(config);
    return standIn === undefined || config[key] === '' ? [] : [[envOf(key), standIn] as const];
  });
  return Object.fromEntries([...Object.entries(toEnv(config)).filter(([name]) => !names.has(name)), ...stands]);
}
