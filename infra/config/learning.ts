// Which settings affect what a run learns. Every setting must be listed here, so that a new one has to be classified.
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Config } from './descriptors.ts';
import { JUDGE_PROMPT_SHA256 } from '../../streams/reward/judge-prompt.ts';
import { promptsHash } from './prompt-files.ts';

/**
 * trainer: recorded in RunStarted and sent to workers with each request; a resumed run continues with the recorded value.
 * worker: recorded in RunStarted; neither trainer nor worker continues with a different value.
 * none: changes when, where, or how fast something happens, how it is displayed, or acts only through other settings.
 */
export type Learning = 'trainer' | 'worker' | 'none';

const trainer = [
  'algorithm',
  'learningRate',
  'entropyBonus',
  'replayTrajectories',
  'replayMb',
  'replayBatch',
  'replayRounds',
  'dataset',
  'groupSize',
  'batchGroups',
  'maxStaleness',
  'stalePolicy',
  'maxUnknown',
  'maxConcurrent',
  'oversample',
  'maxAttempts',
  'reward',
  'rewardNames',
  'maxTurns',
  'maxTokens',
  'maxWallMs',
] as const;

const worker = [
  'policy',
  'policyModule',
  'tools',
  'toolsModule',
  'stepReward',
  'answersToEnd',
  'rewardJudge',
  'judgeModel',
  'judgeMaxTokens',
  'judgeTries',
  'llmModel',
  'llmApi',
  'llmCalls',
  'llmMemory',
  'llmTemperature',
  'llmTopP',
  'llmMaxTokens',
  'llmEnoughDocuments',
  'llmEnoughCalls',
  'llmExtra',
  'llmPrompts',
  'llmValidRatio',
  'searchTopK',
  'webReader',
  'webMaxPageKb',
] as const;

const none = [
  // locations and access
  'kafkaBrokers',
  'clickhouseUrl',
  'schemaRegistryUrl',
  'dataDir',
  'namespace',
  'logLevel',
  'kafkaTls',
  'kafkaCaFile',
  'kafkaSaslMechanism',
  'kafkaSaslUsername',
  'kafkaSaslPassword',
  'clickhouseDatabase',
  'clickhouseUser',
  'clickhousePassword',
  'storePort',
  'storeSessions',
  'healthPort',
  'healthHost',
  'apiHost',
  'apiPort',
  'apiKeys',
  'dashboardToken',
  'openBrowser',
  'apiNames',
  'apiPublicUrl',
  'apiCorsOrigins',
  'webhookUrl',
  'webhookHosts',
  'llmUrl',
  'llmApiKey',
  'retrievalUrl',
  'serperUrl',
  'serperApiKey',
  'jinaUrl',
  'jinaApiKey',
  // topics and tables
  'kafkaCompression',
  'sharedTextsMb',
  'replication',
  'partitionsRollouts',
  'partitionsTasks',
  'retentionHours',
  'keepLogHours',
  'keepLogGb',
  'keepRuns',
  'sinkBatchRows',
  'sinkMaxWaitMs',
  // limits of the API and of readers
  'apiRequestsPerSecond',
  'apiFreshMs',
  'sqlMaxSeconds',
  'sqlMaxRows',
  'sqlMaxResultMb',
  'sqlConcurrency',
  'sqlMaxMemoryMb',
  // time: when an attempt is made, not what it contains
  'kafkaSessionMs',
  'heartbeatMs',
  'silenceMs',
  'rewardTimeoutMs',
  'workerConcurrency',
  'llmConcurrency',
  'llmRetries',
  'llmTimeoutMs',
  'llmIdleMs',
  'llmStream',
  'llmGoOn',
  'searchConcurrency',
  'accessConcurrency',
  'webTimeoutMs',
  'webRetries',
  'webMaxRedirects',
  'webAllowedHosts',
  'webCacheMb',
  'webCacheHours',
  'latencyModel',
  'latencyGenerationMs',
  'latencyToolMs',
  'latencySigma',
  'latencyLoad',
  'latencyTrainMs',
  // additional fields of the record
  'llmLogprobs',
  'llmTokenIds',
  'llmLogprobsKind',
  'llmTokenizerSha256',
  'llmEngine',
  'llmVersionFrom',
  // RunStarted has the kind of trainer; these are its address and time limits
  'trainer',
  'leaseMs',
  'prefetch',
  'trainerHost',
  'trainerPort',
  // the engines that serve the weights, and limits for reading them
  'engines',
  // PolicyPublished has the initial weights
  'initialPolicyUri',
  'initialPolicySha256',
  'initialPolicyFormat',
  'engineKey',
  'engineTimeoutMs',
  'weightsHosts',
  'weightsMaxMb',
  // the location of the replay buffer, not its contents
  'replayMemoryMb',
  // RunStarted has the backend, which affects rounding; a run may move to another machine
  'backend',
  // whether the run continues, not what it learns
  'maxDiscarded',
  // sets maxStaleness and maxConcurrent, and the settings of a recipe, which are classified themselves
  'mode',
  'recipe',
  // evaluations, questions, tests
  'evalSamples',
  'evalQuestions',
  'evalEvery',
  'evalMaxTurns',
  'judgeUrl',
  'judgeApiKey',
  'judgeConcurrency',
  'synthesisUrl',
  'synthesisModel',
  'synthesisApiKey',
  'synthesisCheckUrl',
  'synthesisCheckModel',
  'synthesisCheckApiKey',
  'synthesisTemperature',
  'synthesisMaxTokens',
  'synthesisConcurrency',
  'crashAt',
] as const;

/** The class of every setting. */
export const learning: Readonly<Record<Learning, readonly (keyof Config)[]>> = { trainer, worker, none };

type WorkerSetting = (typeof worker)[number];

type InUse = (config: Config) => boolean;

const withModel: InUse = ({ policy }) => policy === 'llm';
const withJudge: InUse = ({ rewardJudge }) => rewardJudge > 0;
const withWeb: InUse = ({ tools }) => tools === 'web';

/** Conditions under which optional settings are in use. */
const ofOne: Partial<Record<WorkerSetting, InUse>> = {
  policyModule: ({ policy }) => policy === 'module',
  toolsModule: ({ toolsModule }) => toolsModule !== '',
  searchTopK: ({ tools }) => tools === 'web' || tools === 'local',
  rewardJudge: withJudge,
  llmCalls: (config) => withModel(config) && config.llmCalls !== 'tags',
  llmPrompts: (config) => withModel(config) && config.llmPrompts !== '',
  llmValidRatio: (config) => withModel(config) && config.llmValidRatio >= 0,
};
const ofPrefix: readonly (readonly [string, InUse])[] = [
  ['llm', withModel],
  ['judge', withJudge],
  ['web', withWeb],
];

/** False for a setting that is not in use. */
function isInUse(name: WorkerSetting, config: Config): boolean {
  const inUse = ofOne[name] ?? ofPrefix.find(([prefix]) => name.startsWith(prefix))?.[1];
  return inUse === undefined || inUse(config);
}

/** True if the built-in trainer trains the policy, which it can for the ranker only; it collects runs of other policies, without steps. */
export const trainsPolicy = ({ policy, trainer }: Pick<Config, 'policy' | 'trainer'>): boolean =>
  policy === 'ranker' && trainer === 'built-in';

const HASHED = /^\{"sha256":"[0-9a-f]{64}"\}$/;

/** Replaces additional request fields by their hash, because they may contain a key. A hash or an empty value is unchanged. */
export function hashedFields(json: string): string {
  if (json === '{}' || HASHED.test(json)) return json;
  return JSON.stringify({ sha256: createHash('sha256').update(json).digest('hex') });
}

function recorded(name: WorkerSetting, config: Config): string | number {
  if (name === 'llmPrompts') return `sha256:${promptsHash(config.llmPrompts)}`;
  if (name === 'llmExtra') return hashedFields(config.llmExtra);
  // its folder differs between machines
  return name.endsWith('Module') ? basename(String(config[name])) : config[name];
}

/** Settings of the workers in the form that a run records. */
export function workerSettingsOf(config: Config): Readonly<Record<string, string | number>> {
  const used = worker.filter((name) => isInUse(name, config));
  const settings = Object.fromEntries(used.map((name) => [name, recorded(name, config)]));
  return config.rewardJudge > 0 ? { ...settings, judgePrompt: `sha256:${JUDGE_PROMPT_SHA256}` } : settings;
}
