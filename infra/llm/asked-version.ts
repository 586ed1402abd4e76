// Asks an engine for the label of its weights around a generation, for engines whose answers do not name the weights. With equal labels
// before and after, the whole answer is of that version. An update may abort the generation; then the label at its first token counts
// instead of the one after it. Otherwise the version stays unknown: never a guess.
import type { GenerationRequest } from '../../streams/core/models.ts';
import { at, parseJson } from './json.ts';
import type { LlmOptions } from './options.ts';
import { tryOnce, type TryResult } from './try-once.ts';
import { isOfAnotherRun, versionOf } from './weight-versions.ts';

/** `route:/weight_info#weight_version`: a path of the server, and a path into its answer. */
const ROUTE = /^route:(\/[^#]*)#(.+)$/;
const ASK_MS = 5_000;

/** One request, and its version from the routes in `versionFrom` if the answer does not name one. */
export async function tryWithVersion(request: GenerationRequest, options: LlmOptions, signal: AbortSignal): Promise<TryResult> {
  if (!options.versionFrom.some((place) => ROUTE.test(place))) return tryOnce(request, options, { signal });
  const ask = (): Promise<string> => labelOf(options, signal);
  const before = await ask();
  let atFirst: Promise<string> | undefined;
  const onFirst = (): void => {
    atFirst ??= ask();
  };
  const tried = await tryOnce(request, options, { signal, onFirst });
  const made = tried.ok ? tried.generation : tried.partial;
  const late = await (tried.ok ? ask() : atFirst);
  if (made === undefined || before === '' || late !== before || made.spans.some(({ version }) => version >= 0)) return tried;
  const spans = [{ version: versionOf(before, options.run), tokens: made.completionTokens }];
  const foreign = isOfAnotherRun(before, options.run) ? { foreign: true as const } : {};
  return tried.ok ? { ...tried, ...foreign, generation: { ...made, spans } } : { ...tried, ...foreign, partial: { ...made, spans } };
}

/** Empty if no route answers: the version of weights is no reason for a generation to fail. */
async function labelOf({ url, apiKey, versionFrom }: LlmOptions, signal: AbortSignal): Promise<string> {
  for (const place of versionFrom) {
    const [, route, field = ''] = ROUTE.exec(place) ?? [];
    if (route === undefined) continue;
    try {
      const response = await fetch(new URL(route, url), {
        headers: apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` },
        signal: AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]),
        redirect: 'error',
      });
      const label: unknown = at(parseJson(await response.text()), ...field.split('.'));
      if (response.ok && (typeof label === 'string' || typeof label === 'number')) return String(label);
    } catch {
      // the next route may answer
    }
  }
  return '';
}
