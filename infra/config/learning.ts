// Which settings change what a run learns. Each setting of the table is named here, so that one that is added has to say.
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Config } from './descriptors.ts';
import { JUDGE_PROMPT_SHA256 } from '../../streams/reward/judge-prompt.ts';
import { promptsHash } from './prompt-files.ts';

/**
 * trainer: recorded in RunStarted and handed to the workers in each request; a resumed run goes on with what was recorded.
 * worker: recorded in RunStarted; neither trainer nor worker goes on with others.
 * none: changes when, where or how fast something happens, how it is shown, or only through other settings.
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
  // where things are, and who may ask them
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
  // reading
  'apiRequestsPerSecond',
  'apiFreshMs',
  'sqlMaxSeconds',
  'sqlMaxRows',
  'sqlMaxResultMb',
  'sqlConcurrency',
  'sqlMaxMemoryMb',
  // time: when an attempt is made, not what it is
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
  // what is recorded beside
  'llmLogprobs',
  'llmTokenIds',
  'llmLogprobsKind',
  'llmTokenizerSha256',
  'llmEngine',
  'llmVersionFrom',
  // RunStarted has the trainer; how it is reached, and how long it may take
  'trainer',
  'leaseMs',
  'prefetch',
  'trainerHost',
  'trainerPort',
  // which engines serve the weights, and how they are read
  'engines',
  // PolicyPublished has the first weights
  'initialPolicyUri',
  'initialPolicySha256',
  'initialPolicyFormat',
  'engineKey',
  'engineTimeoutMs',
  'weightsHosts',
  'weightsMaxMb',
  // where the replay buffer lies, not what is in it
  'replayMemoryMb',
  // RunStarted has the backend; it changes rounding, and a run may move to another machine
  'backend',
  // whether the run goes on, not what it learns
  'maxDiscarded',
  // sets maxStaleness and maxConcurrent, and the settings of a recipe, which are looked at themselves
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

/** Every setting, by its name. */
export const learning: Readonly<Record<Learning, readonly (keyof Config)[]>> = { trainer, worker, none };

type WorkerSetting = (typeof worker)[number];

type InUse = (config: Config) => boolean;

const withModel: InUse = ({ policy }) => policy === 'llm';
const withJudge: InUse = ({ rewardJudge }) => rewardJudge > 0;
const withWeb: InUse = ({ tools }) => tools === 'web';

/** When settings are in use that are not always. */
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

/** False for settings of what is not in use. */
function isInUse(name: WorkerSetting, config: Config): boolean {
  const inUse = ofOne[name] ?? ofPrefix.find(([prefix]) => name.startsWith(prefix))?.[1];
  return inUse === undefined || inUse(config);
}

/** Whether the trainer makes the policy: it knows the ranker alone. Other runs are collected, without steps. */
export const trainsPolicy = ({ policy, trainer }: Pick<Config, 'policy' | 'trainer'>): boolean =>
  policy === 'ranker' && trainer === 'built-in';

const HASHED = /^\{"sha256":"[0-9a-f]{64}"\}$/;

/** Fields of requests by their hash, for they may hold a key; what is hashed already, and none, stay as they are. */
export function hashedFields(json: string): string {
  if (json === '{}' || HASHED.test(json)) return json;
  return JSON.stringify({ sha256: createHash('sha256').update(json).digest('hex') });
}

function recorded(name: WorkerSetting, config: Config): string | number {
  if (name === 'llmPrompts') return `sha256:${promptsHash(config.llmPrompts)}`;
  if (name === 'llmExtra') return hashedFields(config.llmExtra);
  // its folder is another one on each machine
  return name.endsWith('Module') ? basename(String(config[name])) : config[name];
}

/** Settings of the workers as a run records them. */
export function workerSettingsOf(config: Config): Readonly<Record<string, string | number>> {
  const used = worker.filter((name) => isInUse(name, config));
  const settings = Object.fromEntries(used.map((name) => [name, recorded(name, config)]));
  return config.rewardJudge > 0 ? { ...settings, judgePrompt: `sha256:${JUDGE_PROMPT_SHA256}` } : settings;
}
