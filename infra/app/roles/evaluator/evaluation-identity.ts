// What answers the questions of an evaluation, beyond its name: the settings that affect its answers, the code of modules, the addresses in
// use, the weights, and the model that a server reports. All of it is part of the identity of an evaluation, so that recorded scores are
// never reused for a different configuration. It contains no secrets, because it is recorded.
import { recordedWorkerSettings } from '../../../../consumers/trainer/settings.ts';
import type { Config } from '../../../config/descriptors.ts';
import { workerSettingsOf } from '../../../config/learning.ts';
import { modelCard, safeUrl } from '../../../llm/model-card.ts';
import { assertReachable } from '../../../web/reachable.ts';
import { codeHash } from './code-hash.ts';
import type { LogConnection } from '../../open/connections.ts';
import type { RoleContext } from '../role.ts';
import { runStartedOf } from '../run-started.ts';
import { version as program } from '../../version.ts';

export interface Answering {
  /** Equal configurations have equal JSON. */
  readonly answering: Readonly<Record<string, unknown>>;
  /** Version that the server of a language model reports, -1 = none. */
  readonly servedVersion: number;
}

export interface AnsweringOptions {
  readonly context: Pick<RoleContext, 'config' | 'logger' | 'metrics'>;
  readonly log: LogConnection;
  readonly run: string;
  /** True when the workers of the run answer, not a worker of this process. */
  readonly byWorkersOfRun: boolean;
  /** SHA-256 of the weights that answer; undefined when no run publishes them. */
  readonly weightsSha256: string | undefined;
  readonly judged: boolean;
}

/** Contacts the servers. Throws MODEL_UNAVAILABLE, MODEL_REFUSED, or TOOLS_UNAVAILABLE when one of them does not answer. */
export async function answeringOf(options: AnsweringOptions, signal: AbortSignal): Promise<Answering> {
  const { context, weightsSha256, judged } = options;
  const { config } = context;
  const settings = await settingsOf(options);
  const tools = toolServersOf(settings, config);
  await Promise.all(Object.entries(tools).map(([name, url]) => assertReachable(name, url, signal)));
  const model = settings['policy'] === 'llm' ? await servedModel(context, signal) : undefined;
  return {
    answering: {
      ...{ program, settings },
      code: await codeOf(settings, config),
      addresses: addressesOf(settings, config),
      ...(weightsSha256 === undefined ? {} : { weights_sha256: weightsSha256 }),
      ...(model === undefined ? {} : { model }),
      ...(judged ? { judge: await judgeOf(config, signal) } : {}),
    },
    servedVersion: model?.version ?? -1,
  };
}

type IdentitySettings = Readonly<Record<string, unknown>>;

/** Workers of a run have the settings that the run started with, whatever the settings of this process are. */
async function settingsOf({ context, log, run, byWorkersOfRun }: AnsweringOptions): Promise<IdentitySettings> {
  const started = byWorkersOfRun ? await runStartedOf(log, run) : undefined;
  return (started === undefined ? undefined : recordedWorkerSettings(started)) ?? workerSettingsOf(context.config);
}

async function codeOf({ policy, toolsModule }: IdentitySettings, config: Config): Promise<Readonly<Record<string, string>>> {
  return {
    ...(policy === 'module' ? { policy_sha256: await codeHash(config.policyModule) } : {}),
    ...(toolsModule === undefined ? {} : { tools_sha256: await codeHash(config.toolsModule) }),
  };
}

function addressesOf(settings: IdentitySettings, config: Config): Readonly<Record<string, string>> {
  const all = { ...(settings['policy'] === 'llm' ? { model: config.llmUrl } : {}), ...toolServersOf(settings, config) };
  return Object.fromEntries(Object.entries(all).map(([name, url]) => [name, safeUrl(url)]));
}

function toolServersOf({ tools, webReader }: IdentitySettings, config: Config): Readonly<Record<string, string>> {
  const { retrievalUrl, serperUrl, jinaUrl } = config;
  return {
    ...(tools === 'local' ? { retrieval: retrievalUrl } : {}),
    ...(tools === 'web' ? { search: serperUrl } : {}),
    ...(tools === 'web' && webReader === 'jina' ? { reader: jinaUrl } : {}),
  };
}

async function servedModel({ config, logger, metrics }: AnsweringOptions['context'], signal: AbortSignal) {
  const [{ llmOptionsOf }, { servedVersion }] = await Promise.all([
    import('../worker/deciding-llm.ts'),
    import('../../../llm/served-version.ts'),
  ]);
  const { llmUrl: url, llmModel: model, llmApiKey: apiKey } = config;
  const card = await modelCard({ url, model, apiKey }, signal);
  return { card, version: await servedVersion(llmOptionsOf(config), { logger, metrics, signal }) };
}

async function judgeOf(config: Config, signal: AbortSignal): Promise<unknown> {
  const { judgeUrl: url, judgeModel: model, judgeApiKey: apiKey, judgeMaxTokens: maxTokens, judgeTries: tries } = config;
  return { address: safeUrl(url), card: await modelCard({ url, model, apiKey }, signal), maxTokens, tries };
}
