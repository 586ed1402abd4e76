// What answers the questions of an evaluation, beyond its name: the settings that affect its answers, the code of modules, the addresses in
// use, the weights, and the model that a server reports. All of it is part of the identity of an evaluation, so that recorded scores are
// never reused for a different configuration. It contains no secrets, because it is recorded.
import { recordedWorkerSettings } from '../../../../consumers/trainer/settings.ts';
import type { Config } from '../../../config/descriptors.ts';
import { workerSettingsOf } from '../../../config/learning.ts';
import { modelCard, safeUrl } from '../../../llm/model-card.ts';
import { assertReachable } from '../../../web/reachable.ts';
import type { LogConnection } from '../../open/connections.ts';
import type { RoleContext } from '../role.ts';
import { runStartedOf } from '../run-started.ts';
import { addressSettings, assertSameServers, codeOf, serversOf } from '../worker-identity.ts';
import { version as program } from '../../version.ts';

export interface Answering {
  /** Equal configurations have equal JSON. */
  readonly answering: Readonly<Record<string, unknown>>;
  /** Version that the server of a language model reports, -1 = none. */
  readonly servedVersion: number;
}

export interface AnsweringOptions {
  readonly context: Pick<RoleContext, 'config' | 'logger' | 'metrics' | 'supervised'>;
  readonly log: LogConnection;
  readonly run: string;
  /** True when the workers of the run answer, not a worker of this process. */
  readonly byWorkersOfRun: boolean;
  /** SHA-256 of the weights that answer; undefined when no run publishes them. */
  readonly weightsSha256: string | undefined;
  readonly judged: boolean;
  /** Hashes of the modules that this process has loaded; by default, those that the run recorded, else those of the files. */
  readonly code?: Readonly<Record<string, string>>;
}

/**
 * Contacts the servers. Throws MODEL_UNAVAILABLE, MODEL_REFUSED, or TOOLS_UNAVAILABLE when one of them does not answer, and RUN_CONFLICT
 * when they are not those of the workers that answer.
 */
export async function answeringOf(options: AnsweringOptions, signal: AbortSignal): Promise<Answering> {
  const { context, weightsSha256, judged } = options;
  const { config } = context;
  const settings = await settingsOf(options);
  const servers = serversOf(settings);
  const ofTools = servers.filter((name) => name !== 'model');
  await Promise.all(ofTools.map((name) => assertReachable(name, config[addressSettings[name]], signal)));
  const model = settings['policy'] === 'llm' ? await servedModel(options, signal) : undefined;
  return {
    answering: {
      ...{ program, settings },
      code: options.code ?? (await codeOf(settings, config)),
      addresses: Object.fromEntries(servers.map((name) => [name, safeUrl(config[addressSettings[name]])])),
      ...(weightsSha256 === undefined ? {} : { weights_sha256: weightsSha256 }),
      ...(model === undefined ? {} : { model }),
      ...(judged ? { judge: await judgeOf(config, signal) } : {}),
    },
    servedVersion: model?.version ?? -1,
  };
}

/**
 * Workers of a run have the settings that the run started with, whatever the settings of this process are. A supervisor gives its evaluator
 * the servers of its workers, which may have moved since.
 */
async function settingsOf({ context, log, run, byWorkersOfRun }: AnsweringOptions): Promise<Readonly<Record<string, unknown>>> {
  const { config, supervised } = context;
  const started = byWorkersOfRun ? await runStartedOf(log, run) : undefined;
  const recorded = started === undefined ? undefined : recordedWorkerSettings(started);
  if (recorded === undefined) return workerSettingsOf(config);
  if (!supervised) assertSameServers({ run, recorded }, config);
  return recorded;
}

async function servedModel({ context, run }: Pick<AnsweringOptions, 'context' | 'run'>, signal: AbortSignal) {
  const { config, logger, metrics } = context;
  const [{ llmOptionsOf }, { servedVersion }] = await Promise.all([
    import('../worker/deciding-llm.ts'),
    import('../../../llm/served-version.ts'),
  ]);
  const { llmUrl: url, llmModel: model, llmApiKey: apiKey } = config;
  const card = await modelCard({ url, model, apiKey }, signal);
  return { card, version: await servedVersion({ ...llmOptionsOf(config), run }, { logger, metrics, signal }) };
}

async function judgeOf(config: Config, signal: AbortSignal): Promise<unknown> {
  const { judgeUrl: url, judgeModel: model, judgeApiKey: apiKey, judgeMaxTokens: maxTokens, judgeTries: tries } = config;
  return { address: safeUrl(url), card: await modelCard({ url, model, apiKey }, signal), maxTokens, tries };
}
