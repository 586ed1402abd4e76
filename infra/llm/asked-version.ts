// Asks an engine for the label of its weights around a generation, for engines whose answers do not name the weights. With equal labels
// before and after, the whole answer is of that version. An update may abort the generation; then the label at its first token counts
// instead of the one after it. With different labels, it is unknown which version generated which token, but the label before is the
// oldest possible one: one token is recorded with it, and the others as unknown.
import type { GenerationRequest } from '../../streams/core/models.ts';
import { pause } from '../lifecycle/waiting.ts';
import { at, parseJson } from './json.ts';
import type { LlmOptions } from './options.ts';
import { tryOnce, type TryResult } from './try-once.ts';
import { isOfAnotherRun, LOADING, versionOf, type WeightSpan } from './weight-versions.ts';

/** `route:/weight_info#weight_version`: a path of the server, and a path into its answer. */
const ROUTE = /^route:(\/[^#]*)#(.+)$/;
const ASK_MS = 5_000;
/** How long to wait while weights are loading, which takes seconds to minutes. */
const LOADING_MS = 600_000;
const LOOK_MS = 200;

interface TryTerms {
  readonly signal: AbortSignal;
  /** Measures the request, without the requests for its version. */
  readonly timed: (run: () => Promise<TryResult>) => Promise<TryResult>;
}

/** One request, and its version from the routes in `versionFrom` if the answer does not name one. */
export async function tryWithVersion(request: GenerationRequest, options: LlmOptions, { signal, timed }: TryTerms): Promise<TryResult> {
  if (!options.versionFrom.some((place) => ROUTE.test(place))) return timed(() => tryOnce(request, options, { signal }));
  const ask = (): Promise<string> => labelOf(options, signal);
  const before = await loadedLabel(ask, signal);
  let atFirst: Promise<string> | undefined;
  const onFirst = (): void => {
    atFirst ??= ask();
  };
  const tried = await timed(() => tryOnce(request, options, { signal, onFirst }));
  const made = tried.ok ? tried.generation : tried.partial;
  const late = await (tried.ok ? ask() : atFirst);
  if (made === undefined || before === '' || made.spans.some(({ version }) => version >= 0)) return tried;
  const spans = spansOf({ version: versionOf(before, options.run), tokens: made.completionTokens }, late === before);
  const foreign = isOfAnotherRun(before, options.run) ? { foreign: true as const } : {};
  return tried.ok ? { ...tried, ...foreign, generation: { ...made, spans } } : { ...tried, ...foreign, partial: { ...made, spans } };
}

/** Waits while weights are loading: the engine would hold the request, and answer it with weights that have no label yet. */
async function loadedLabel(ask: () => Promise<string>, signal: AbortSignal): Promise<string> {
  const until = performance.now() + LOADING_MS;
  let label = await ask();
  while (label === LOADING && performance.now() < until && !signal.aborted) {
    await pause(LOOK_MS, signal);
    label = await ask();
  }
  return label;
}

/** `whole`: all tokens, with the version before the first one. */
function spansOf(whole: WeightSpan, isWhole: boolean): readonly WeightSpan[] {
  if (isWhole || whole.version < 0) return [whole];
  const rest = { version: -1, tokens: whole.tokens - 1 };
  return rest.tokens > 0 ? [{ ...whole, tokens: 1 }, rest] : [{ ...whole, version: -1 }];
}

/** Empty if no route answers: a generation does not fail because its version is unknown. */
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
