import { PlatformError } from '../../streams/core/errors.ts';
import { descriptors, type Config, type Descriptor } from './descriptors.ts';
import { recipeOf } from './recipes.ts';
import type { ProcessEnv } from '../lifecycle/inherited-env.ts';

const PREFIX = 'TURNSTREAM_';
/** Variables that only the clients read. They are ignored here, so that turnstream starts in a shell in which they are set. */
const CLIENTS: ReadonlySet<string> = new Set(['TURNSTREAM_URL', 'TURNSTREAM_API_KEY']);

/**
 * Reads every setting once; what is not set comes from the recipe, otherwise from the table. Reports all problems in one CONFIG_INVALID,
 * and returns a frozen object. Unknown TURNSTREAM_* keys are refused, because a misspelled one would silently have no effect.
 */
export function loadConfig(env: ProcessEnv, overrides: Partial<Config> = {}): Config {
  const entries = Object.entries(descriptors) as [keyof Config, Descriptor][];
  const defaults: Partial<Config> = recipeOf(overrides.recipe ?? env[descriptors.recipe.env]?.trim() ?? '');
  const read = entries.map(([key, descriptor]) => {
    const fallback = defaults[key] ?? descriptor.fallback;
    return { key, fallback, parsed: readOne(descriptor, env, fallback) };
  });
  const values = Object.fromEntries(read.map(({ key, fallback, parsed }) => [key, 'value' in parsed ? parsed.value : fallback]));
  const config = { ...values, ...overrides } as Config;
  const problems = [
    ...read.flatMap(({ parsed }) => ('problem' in parsed ? [parsed.problem] : [])),
    ...unknownKeys(env),
    ...crossChecks(config),
  ];
  if (problems.length > 0) throw new PlatformError('CONFIG_INVALID', `configuration is not usable:\n- ${problems.join('\n- ')}`);
  return Object.freeze(config);
}

/** True when the environment sets it, even to its default. */
export const isSet = (env: ProcessEnv, key: keyof Config): boolean => (env[descriptors[key].env]?.trim() ?? '') !== '';

function readOne(descriptor: Descriptor, env: ProcessEnv, fallback: unknown): ParsedValue {
  const raw = env[descriptor.env]?.trim();
  if (raw === undefined || raw === '') return { value: fallback };
  const parsed = parse(descriptor, raw);
  return 'value' in parsed
    ? parsed
    : { problem: `${descriptor.env} ${parsed.problem}, got ${descriptor.secret === true ? '(hidden)' : JSON.stringify(raw)}` };
}

function unknownKeys(env: ProcessEnv): string[] {
  const known = new Set(Object.values(descriptors).map((descriptor: Descriptor) => descriptor.env));
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !known.has(name) && !CLIENTS.has(name))
    .map((name) => `${name} is not a setting of turnstream`);
}

type ParsedValue = { readonly value: unknown } | { readonly problem: string };

function parse(descriptor: Descriptor, raw: string): ParsedValue {
  switch (descriptor.kind) {
    case 'text':
      return matching(descriptor, [raw], raw);
    case 'list': {
      const items = raw
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '');
      return matching(descriptor, items, items);
    }
    case 'choice':
      return descriptor.choices.includes(raw) ? { value: raw } : { problem: `must be one of ${descriptor.choices.join(', ')}` };
    case 'flag':
      return ['true', 'false', '1', '0'].includes(raw) ? { value: raw === 'true' || raw === '1' } : { problem: 'must be true or false' };
    case 'whole':
    case 'number':
      return numeric(descriptor, raw);
  }
}

function matching(
  descriptor: { readonly pattern?: RegExp; readonly shape?: string },
  items: readonly string[],
  value: unknown,
): ParsedValue {
  const { pattern } = descriptor;
  if (pattern === undefined || items.every((item) => pattern.test(item))) return { value };
  return { problem: `must be ${descriptor.shape ?? String(pattern)}` };
}

function numeric(descriptor: Extract<Descriptor, { readonly kind: 'whole' | 'number' }>, raw: string): ParsedValue {
  const value = Number(raw);
  const not = 'not' in descriptor ? descriptor.not : undefined;
  const except = not === undefined ? '' : ` other than ${not}`;
  const fits =
    Number.isFinite(value) &&
    value >= descriptor.min &&
    value <= descriptor.max &&
    value !== not &&
    (descriptor.kind === 'number' || Number.isInteger(value));
  return fits
    ? { value }
    : { problem: `must be a ${descriptor.kind === 'whole' ? 'whole ' : ''}number in ${descriptor.min}..${descriptor.max}${except}` };
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

function crossChecks(config: Config): string[] {
  const problems: string[] = [];
  if (config.trainer === 'external' && !LOOPBACK.has(config.trainerHost) && config.apiKeys.length === 0) {
    problems.push(`TURNSTREAM_TRAINER_HOST ${config.trainerHost} is reachable from other machines: set TURNSTREAM_API_KEYS as well`);
  }
  if (!LOOPBACK.has(config.apiHost) && config.apiKeys.length === 0) {
    problems.push(`TURNSTREAM_API_HOST ${config.apiHost} is reachable from other machines: set TURNSTREAM_API_KEYS as well`);
  }
  if (config.kafkaSaslMechanism !== 'none' && config.kafkaSaslUsername === '') {
    problems.push('TURNSTREAM_KAFKA_SASL_MECHANISM needs TURNSTREAM_KAFKA_SASL_USERNAME');
  }
  if (config.silenceMs <= 2 * config.heartbeatMs) {
    problems.push(`TURNSTREAM_SILENCE_MS (${config.silenceMs}) must be more than twice TURNSTREAM_HEARTBEAT_MS (${config.heartbeatMs})`);
  }
  return [
    ...problems,
    ...engineChecks(config),
    ...firstWeightsChecks(config),
    ...policyChecks(config),
    ...toolChecks(config),
    ...judgeChecks(config),
  ];
}

function engineChecks({ engines, trainer, llmVersionFrom }: Config): string[] {
  if (engines.length === 0) return [];
  const isAsked = llmVersionFrom.some((place) => place.startsWith('route:'));
  const twice = engines.find((engine, at) => engines.indexOf(engine) !== at);
  return [
    ...(trainer === 'external'
      ? []
      : ['TURNSTREAM_ENGINES needs TURNSTREAM_TRAINER external: the built-in trainer makes no weights for engines']),
    ...(twice === undefined ? [] : [`TURNSTREAM_ENGINES names ${twice} twice`]),
    ...(isAsked && engines.length > 1
      ? ['TURNSTREAM_LLM_VERSION_FROM has a route, which needs a single engine: another may answer it instead of the one that generates']
      : []),
  ];
}

function firstWeightsChecks({ initialPolicyUri: uri, initialPolicySha256: sha256, policy, trainer }: Config): string[] {
  if (uri === '') return sha256 === '' ? [] : ['TURNSTREAM_INITIAL_POLICY_SHA256 needs TURNSTREAM_INITIAL_POLICY_URI'];
  return [
    ...(trainer === 'external' && policy !== 'ranker'
      ? []
      : ['TURNSTREAM_INITIAL_POLICY_URI needs TURNSTREAM_TRAINER external and a TURNSTREAM_POLICY other than ranker']),
    ...(sha256 === '' && !uri.startsWith('file:') ? ['TURNSTREAM_INITIAL_POLICY_URI needs TURNSTREAM_INITIAL_POLICY_SHA256'] : []),
  ];
}

function judgeChecks({ rewardJudge, judgeUrl, judgeModel }: Config): string[] {
  if (rewardJudge === 0 || (judgeUrl !== '' && judgeModel !== '')) return [];
  return ['TURNSTREAM_REWARD_JUDGE needs TURNSTREAM_JUDGE_URL and TURNSTREAM_JUDGE_MODEL'];
}

function toolChecks({ tools, serperApiKey, retrievalUrl, toolsModule }: Config): string[] {
  if (tools === 'web' && serperApiKey === '') return ['TURNSTREAM_TOOLS web needs TURNSTREAM_SERPER_API_KEY'];
  if (tools === 'local' && retrievalUrl === '') return ['TURNSTREAM_TOOLS local needs TURNSTREAM_RETRIEVAL_URL'];
  if (tools === 'module' && toolsModule === '') return ['TURNSTREAM_TOOLS module needs TURNSTREAM_TOOLS_MODULE'];
  return [];
}

function policyChecks({ policy, policyModule, llmUrl, llmModel, llmExtra, llmApi, llmCalls }: Config): string[] {
  const problems: string[] = [];
  if (policy === 'module' && policyModule === '') problems.push('TURNSTREAM_POLICY module needs TURNSTREAM_POLICY_MODULE');
  if (policy === 'llm' && llmUrl === '') problems.push('TURNSTREAM_POLICY llm needs TURNSTREAM_LLM_URL');
  if (policy === 'llm' && llmModel === '') problems.push('TURNSTREAM_POLICY llm needs TURNSTREAM_LLM_MODEL');
  if (llmCalls === 'functions' && llmApi !== 'chat') problems.push('TURNSTREAM_LLM_CALLS functions needs TURNSTREAM_LLM_API chat');
  try {
    JSON.parse(llmExtra);
  } catch {
    problems.push('TURNSTREAM_LLM_EXTRA must be a JSON object');
  }
  return problems;
}

/** The configuration for logs and `doctor`: secrets hidden. */
export function redact(config: Config): Record<string, unknown> {
  const entries = Object.entries(descriptors) as [keyof Config, Descriptor][];
  return Object.fromEntries(
    entries.map(([key, descriptor]) => [key, descriptor.secret === true && String(config[key]) !== '' ? '(hidden)' : config[key]]),
  );
}

/** The environment that makes a child process read the same configuration. */
export function toEnv(config: Config): Record<string, string> {
  const entries = Object.entries(descriptors) as [keyof Config, Descriptor][];
  const text = (value: unknown): string => (Array.isArray(value) ? value.join(',') : String(value));
  return Object.fromEntries(entries.map(([key, descriptor]) => [descriptor.env, text(config[key])]));
}
