// The whole run above the flow: how many attempts started in each time span, and their outcomes. The part that the flow shows is marked; a
// click or a key selects another part.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import type { ApiFlow, ApiMergedFlow } from '../data/watch-shapes.ts';
import { duration, figure } from '../kit/format.ts';
import { runUrl } from '../kit/run-page.tsx';
import { useKeys } from '../shell/keys.ts';
import { change } from '../shell/place.ts';
import { stripPaths } from './strip-paths.ts';

const POINTS = 600;
const HEIGHT = 40;

export function FlowStrip({ run, flow }: { readonly run: string; readonly flow: ApiFlow }): JSX.Element | null {
  const { value } = useAnswer<ApiMergedFlow>(runUrl(run, `/flow/merged?points=${POINTS}`));
  return value === undefined || value.at_ms.length < 2 ? null : <Strip whole={value} flow={flow} />;
}

function Strip({ whole, flow }: { readonly whole: ApiMergedFlow; readonly flow: ApiFlow }): JSX.Element {
  const spanMs = whole.every_s * 1_000;
  const [startMs, width] = [whole.at_ms[0] ?? 0, whole.at_ms.length];
  const starts = flow.columns['start_ms'] ?? [];
  const [fromMs, toMs] = [starts[0] ?? startMs, (starts.at(-1) ?? startMs) + spanMs];
  const x = (ms: number): number => Math.max(0, Math.min(width, (ms - startMs) / spanMs));
  const [from, to] = [x(fromMs), x(toMs)];
  const { kept, discarded, others } = stripPaths(whole, HEIGHT);
  const showUntil = (ms: number): void => change({ until: new Date(ms).toISOString(), from: undefined, to: undefined }, true);
  useKeys('Run', [
    // nothing started before the first span
    { keys: ['['], does: 'Earlier part of the run', run: () => from >= 1 && showUntil(fromMs) },
    { keys: [']'], does: 'Later part of the run', run: () => showUntil(Math.min(startMs + width * spanMs, 2 * toMs - fromMs)) },
  ]);
  /** The end of the window, slightly after the clicked time, so that the time is inside. */
  const show = (event: MouseEvent & { readonly currentTarget: Element }): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = startMs + ((event.clientX - box.left) / box.width) * width * spanMs;
    showUntil(at + ((to - from) / 2) * spanMs);
  };
  return (
    <>
      <svg
        class="strip"
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${figure(whole.trajectories)} attempts of the whole run in ${width} spans`}
        onClick={show}
      >
        <path class="kept" d={kept} />
        <path class="discarded" d={discarded} />
        <path class="others" d={others} />
        <rect class="window" x={from} width={Math.max(1, to - from)} height={HEIGHT} />
      </svg>
      <p class="note">
        All {figure(whole.trajectories)} attempts of the run; a column is {duration(spanMs)}. From the bottom: trained or collected,
        discarded, lost or open. The shaded part is below; click, or press <kbd>[</kbd> or <kbd>]</kbd>, to show another part.
      </p>
    </>
  );
}
