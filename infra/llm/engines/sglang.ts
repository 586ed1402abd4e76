// The API of SGLang. Running generations wait during an update and continue with the new weights; each response says which version made
// which token. Weights and label change together.
import { PlatformError } from '../../../streams/core/errors.ts';
import { at, parseJson, textAt } from '../json.ts';
import { callsTo, thenResume, type Engine, type EngineTerms } from './engine.ts';

export function createSglang(options: EngineTerms): Engine {
  const call = callsTo(options);
  const { name, timeoutMs } = options;
  const resume = async (): Promise<void> => {
    await call('/continue_generation', { body: {} });
  };
  return {
    name,
    resume,
    label: async (signal) => textAt(parseJson(await call('/model_info', { signal })), 'weight_version'),
    load({ path, label }, signal) {
      const body = { model_path: path, weight_version: label, flush_cache: true };
      return thenResume(async () => {
        await call('/pause_generation', { body: { mode: 'retract' }, signal });
        const answer = parseJson(await call('/update_weights_from_disk', { body, signal, timeoutMs }));
        if (at(answer, 'success') === true) return;
        throw new PlatformError('ENGINE_REFUSED', `loading weights into ${name}: ${textAt(answer, 'message')}`);
      }, resume);
    },
  };
}
