// The language model that judges answers, as configured.
import { createJudge, type Judge } from '../../../producers/judge/judge.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';
import type { Config } from '../../config/descriptors.ts';
import { openChatModel } from './chat-model.ts';

/** Used only for samples after the first, so that they differ. */
const TEMPERATURE = 0.6;

export interface OpenJudge {
  readonly judge: Judge;
  close(): void;
}

/** Throws CONFIG_INVALID when no judge is configured. */
export function openJudge(config: Config, parts: { readonly logger: Logger; readonly metrics: Metrics }): OpenJudge {
  const { judgeUrl: url, judgeModel: name, judgeApiKey: apiKey, judgeConcurrency: concurrency } = config;
  if (url === '' || name === '') {
    throw new PlatformError('CONFIG_INVALID', 'judging answers: set TURNSTREAM_JUDGE_URL and TURNSTREAM_JUDGE_MODEL, or leave --judge out');
  }
  const sampling = { temperature: TEMPERATURE, topP: 1, concurrency, versionFrom: config.llmVersionFrom };
  const model = openChatModel({ url, name, apiKey }, sampling, { config, ...parts });
  const { judgeMaxTokens: maxTokens, judgeTries: tries } = config;
  return {
    judge: createJudge({ name, model, maxTokens, tries }),
    close: () => {
      model.close();
    },
  };
}
