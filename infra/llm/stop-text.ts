// Which stop string ended a generation, from the server's own field: `stop_reason` of vLLM, `matched_stop` of SGLang. When the model ended
// by itself, the field is null or the id of a token. Other servers have no such field.
import { at } from './json.ts';

const PLACES = ['stop_reason', 'matched_stop'] as const;

/** Empty when no stop string ended it; undefined when this chunk does not say, or the generation continues. */
export function stopTextIn(choice: unknown): string | undefined {
  if (typeof at(choice, 'finish_reason') !== 'string') return undefined;
  const said = PLACES.map((place) => at(choice, place)).filter((value) => value !== undefined);
  if (said.length === 0) return undefined;
  return said.find((value) => typeof value === 'string') ?? '';
}
