// The keys of charts, and the charts that the reader hid with a digit. The address names each by its first series.
import type { JSX } from 'preact';
import { chartKeys } from '../charts/chart-keys.ts';
import type { ChartSpec } from '../charts/figures.ts';
import { useKeys } from '../shell/keys.ts';
import { change, parameter } from '../shell/place.ts';

const DIGITS = 9;
const nameOf = ({ series }: ChartSpec): string => series[0] ?? '';

interface HiddenCharts {
  readonly isShown: (spec: ChartSpec) => boolean;
  /** Brings a chart back. */
  readonly chips: JSX.Element | undefined;
}

export function useHiddenCharts(charts: readonly ChartSpec[]): HiddenCharts {
  const names = (parameter('hide') ?? '').split(',').filter((name) => name !== '');
  const isShown = (spec: ChartSpec): boolean => !names.includes(nameOf(spec));
  const toggle = (spec: ChartSpec): void => {
    const rest = names.filter((name) => name !== nameOf(spec));
    change({ hide: (isShown(spec) ? [...names, nameOf(spec)] : rest).join(',') });
  };
  useKeys('Charts', [
    ...chartKeys,
    ...charts.slice(0, DIGITS).map((spec, at) => ({
      keys: [String(at + 1)],
      does: `Show or hide: ${spec.title}`,
      run: () => toggle(spec),
    })),
  ]);
  const hidden = charts.filter((spec) => !isShown(spec));
  const digitOf = (spec: ChartSpec): number => charts.indexOf(spec) + 1;
  return {
    isShown,
    chips:
      hidden.length === 0 ? undefined : (
        <div class="chips" role="group" aria-label="Hidden charts">
          {hidden.map((spec) => (
            <button key={spec.title} type="button" class="chip" onClick={() => toggle(spec)}>
              show {spec.title} {digitOf(spec) <= DIGITS && <kbd>{digitOf(spec)}</kbd>}
            </button>
          ))}
        </div>
      ),
  };
}
