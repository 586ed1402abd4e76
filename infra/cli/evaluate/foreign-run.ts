// Names the run that evaluations belong to when the policy comes from no turnstream run.
import { createHash } from 'node:crypto';
import { parse } from 'node:path';
import type { Config } from '../../config/descriptors.ts';

/** The policy that answers: its name, and the settings that distinguish it. */
function foreignOf(config: Config): { readonly name: string; readonly settings: readonly unknown[] } {
  if (config.policy === 'module') return { name: parse(config.policyModule).name, settings: [config.policyModule] };
  const { llmApi, llmMemory, llmTemperature, llmTopP, llmMaxTokens, llmEnoughDocuments, llmEnoughCalls, llmExtra, llmModel: name } = config;
  return { name, settings: [llmApi, llmMemory, llmTemperature, llmTopP, llmMaxTokens, llmEnoughDocuments, llmEnoughCalls, llmExtra, name] };
}

/** The name of that run: the same for the same model and settings, or for the same path of a module. */
export function runOfModel(config: Config): string {
  const { name, settings } = foreignOf(config);
  const hash = createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 8);
  const model = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
  return `eval-${model === '' ? 'model' : model}-${hash}`;
}
