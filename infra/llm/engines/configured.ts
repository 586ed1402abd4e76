// Creates an engine from its configuration, `<kind>=<base URL>`.
import type { Engine, EngineTerms } from './engine.ts';
import { createSglang } from './sglang.ts';
import { createVllm } from './vllm.ts';

const kinds: Readonly<Record<string, (options: EngineTerms) => Engine>> = { vllm: createVllm, sglang: createSglang };

/** Throws if the kind is unknown, which the configuration has already rejected. */
export function createEngine(name: string, terms: Pick<EngineTerms, 'apiKey' | 'timeoutMs'>): Engine {
  const [kind = '', address = ''] = name.split(/=(.*)/s);
  const create = kinds[kind];
  if (create === undefined) throw new RangeError(`${kind} is not a kind of engine`);
  return create({ ...terms, name, url: address.replace(/\/+$/, '').replace(/\/v1$/, '') });
}
