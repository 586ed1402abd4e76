// The whole run above the flow: how many attempts started in each time span, and their outcomes. The part that the flow shows is marked; a
// click selects another part.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import type { ApiFlow, ApiMergedFlow } from '../data/watch-shapes.ts';
import { duration, figure } from '../kit/format.ts';
import { runUrl } from '../kit/run-page.tsx';
import { change } from '../shell/place.ts';
import { stripPaths } from './strip-paths.ts';

const POINTS = 600;
const HEIGHT = 40;

export function FlowStrip({ run, flow }: { readonly run: string; readonly flow: ApiFlow }): JSX.Element | null {
  const { value } = useAnswer<ApiMergedFlow>(runUrl(run, `/flow/merged?points=${POINTS}`));
  if (value === undefined || value.at_ms.length < 2) return null;
  const spanMs = value.every_s * 1_000;
  const [startMs, width] = [value.at_ms[0] ?? 0, value.at_ms.length];
  const starts = flow.columns['start_ms'] ?? [];
  const x = (ms: number): number => Math.max(0, Math.min(width, (ms - startMs) / spanMs));
  const [from, to] = [x(starts[0] ?? startMs), x((starts.at(-1) ?? startMs) + spanMs)];
  const { trained, discarded, others } = stripPaths(value, HEIGHT);
  /** The end of the window, slightly after the clicked time, so that the time is inside. */
  const show = (event: MouseEvent & { readonly currentTarget: Element }): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = startMs + ((event.clientX - box.left) / box.width) * width * spanMs;
    change({ until: new Date(at + ((to - from) / 2) * spanMs).toISOString(), from: undefined, to: undefined }, true);
  };
  return (
    <>
      <svg
        class="strip"
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${figure(value.trajectories)} attempts of the whole run in ${width} spans`}
        onClick={show}
      >
        <path class="trained" d={trained} />
        <path class="discarded" d={discarded} />
        <path class="others" d={others} />
        <rect class="window" x={from} width={Math.max(1, to - from)} height={HEIGHT} />
      </svg>
      <p class="note">
        All {figure(value.trajectories)} attempts of the run; a column is {duration(spanMs)}. The shaded part is below; click to show
        another part.
      </p>
    </>
  );
}
