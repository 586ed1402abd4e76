// Which stop string ended a generation, from the server's own field: `stop_reason` of vLLM, `matched_stop` of SGLang. Both are
// there when the model ended by itself, too: null, or the id of a token. A server without such a field says nothing.
import { at } from './json.ts';

const PLACES = ['stop_reason', 'matched_stop'] as const;

/** Empty when no stop string ended it; undefined when this chunk does not say, or the generation goes on. */
export function stopTextIn(choice: unknown): string | undefined {
  if (typeof at(choice, 'finish_reason') !== 'string') return undefined;
  const said = PLACES.map((place) => at(choice, place)).filter((value) => value !== undefined);
  if (said.length === 0) return undefined;
  return said.find((value) => typeof value === 'string') ?? '';
}
