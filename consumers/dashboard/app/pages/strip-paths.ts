// The columns of the strip above the flow as three SVG paths, so that the number of nodes does not depend on the number of spans.
import type { ApiMergedFlow } from '../data/watch-shapes.ts';

interface StripPaths {
  /** Trained on or collected. */
  readonly kept: string;
  readonly discarded: string;
  readonly others: string;
}

export function stripPaths({ at_ms, columns }: Pick<ApiMergedFlow, 'at_ms' | 'columns'>, height: number): StripPaths {
  const of = (name: string, at: number): number => columns[name]?.[at] ?? 0;
  const places = at_ms.map((_, at) => at);
  const kept = (at: number): number => of('trained', at) + of('collected', at);
  const discarded = (at: number): number => of('discarded', at);
  const others = (at: number): number => of('lost', at) + of('open', at);
  const most = Math.max(1, ...places.map((at) => kept(at) + discarded(at) + others(at)));
  const y = (count: number): number => Number((height - (height * count) / most).toFixed(2));
  const layer = (below: (at: number) => number, count: (at: number) => number): string =>
    places.map((at) => (count(at) === 0 ? '' : `M${at},${y(below(at))}V${y(below(at) + count(at))}H${at + 1}V${y(below(at))}Z`)).join('');
  return {
    kept: layer(() => 0, kept),
    discarded: layer(kept, discarded),
    others: layer((at) => kept(at) + discarded(at), others),
  };
}
