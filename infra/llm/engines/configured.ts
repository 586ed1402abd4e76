// The engines of a configuration: `<kind>=<base URL>` each.
import type { Engine, EngineOptions } from './engine.ts';
import { createSglang } from './sglang.ts';
import { createVllm } from './vllm.ts';

const kinds: Readonly<Record<string, (options: EngineOptions) => Engine>> = { vllm: createVllm, sglang: createSglang };

/** Throws for a kind that the configuration refuses. */
export function createEngine(name: string, terms: Pick<EngineOptions, 'apiKey' | 'timeoutMs'>): Engine {
  const [kind = '', address = ''] = name.split(/=(.*)/s);
  const create = kinds[kind];
  if (create === undefined) throw new RangeError(`${kind} is no kind of engine`);
  return create({ ...terms, name, url: address.replace(/\/+$/, '').replace(/\/v1$/, '') });
}
