// The API of vLLM for online reinforcement learning, which VLLM_SERVER_DEV_MODE=1 enables. An update aborts running generations and drops
// their cache: vLLM does not report which version made which token, so a response must not contain tokens of two versions. Workers continue
// from the tokens generated so far.
import { parseJson, textAt } from '../json.ts';
import { LOADING } from '../weight-versions.ts';
import { callsTo, thenResume, type Engine, type EngineTerms } from './engine.ts';

export function createVllm(options: EngineTerms): Engine {
  const call = callsTo(options);
  const { name, timeoutMs } = options;
  const resume = async (): Promise<void> => {
    await call('/resume', { body: {} });
  };
  return {
    name,
    resume,
    label: async (signal) => textAt(parseJson(await call('/weight_info', { signal })), 'weight_version'),
    load({ path, label }, signal) {
      const mark = (version: string): Promise<string> => call('/update_weight_version', { body: { new_version: version }, signal });
      const reload = { method: 'reload_weights', kwargs: { weights_path: path } };
      return thenResume(async () => {
        // first, so that a client whose generation is aborted sees that weights are loading
        await mark(LOADING);
        await call('/pause?mode=abort', { body: {}, signal });
        await call('/collective_rpc', { body: reload, signal, timeoutMs });
        await mark(label);
      }, resume);
    },
  };
}
