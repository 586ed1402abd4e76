// vLLM's routes of online reinforcement learning, which it has with VLLM_SERVER_DEV_MODE=1. Generations under way are ended and their
// cache is dropped: vLLM does not say which weights made which token, so an answer must not hold tokens of two versions. Workers go on
// with what was generated.
import { parseJson, textAt } from '../json.ts';
import { callsTo, thenResume, type Engine, type EngineOptions } from './engine.ts';

/** What is generated while weights are half loaded is of no version. */
const NO_VERSION = 'unknown';

export function createVllm(options: EngineOptions): Engine {
  const call = callsTo(options);
  const { name, timeoutMs } = options;
  const resume = async (): Promise<void> => void (await call('/resume', { body: {} }));
  return {
    name,
    resume,
    label: async (signal) => textAt(parseJson(await call('/weight_info', { signal })), 'weight_version'),
    load({ path, label }, signal) {
      const mark = (version: string): Promise<string> => call('/update_weight_version', { body: { new_version: version }, signal });
      const reload = { method: 'reload_weights', kwargs: { weights_path: path } };
      return thenResume(async () => {
        await call('/pause?mode=abort', { body: {}, signal });
        await mark(NO_VERSION);
        await call('/collective_rpc', { body: reload, signal, timeoutMs });
        await mark(label);
      }, resume);
    },
  };
}
