// Trajectories over wall-clock time: the versions that generated each, when weights were published, and what became too stale.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { longestOf, packFlow } from '../charts/flow-layout.ts';
import { refresh, useAnswer } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import type { ApiFlow } from '../data/watch-shapes.ts';
import { figure, since } from '../kit/format.ts';
import { RunPage, runUrl } from '../kit/run-page.tsx';
import { Empty, Waiting } from '../kit/states.tsx';
import { visible } from '../kit/visible.ts';
import { useKeys } from '../shell/keys.ts';
import type { PatternParts } from '../shell/patterns.ts';
import { change, parameter } from '../shell/place.ts';
import { FlowCanvas } from './flow-canvas.tsx';
import { FlowStrip } from './flow-strip.tsx';

const MOST = 50_000;

export function FlowPage({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  const until = parameter('until');
  const shown = useAnswer<ApiFlow>(runUrl(run, `/flow?limit=${MOST}${until === undefined ? '' : `&to=${encodeURIComponent(until)}`}`));
  const [news, setNews] = useState(0);
  useLive({
    run,
    types: ['TrajectoryFinished', 'StepCompleted'],
    onEvent: () => setNews((count) => count + 1),
    onGap: () => setNews(Infinity),
  });
  const showNews = (): void => {
    setNews(0);
    refresh(runUrl(run, '/flow'));
  };
  const beside = news > 0 && (
    <button type="button" class="chip live" onClick={showNews}>
      {since(news)} events since: show
    </button>
  );
  return (
    <RunPage run={run} title="Flow" beside={beside}>
      <Waiting shown={shown} of="the flow">
        {(flow) => (flow.trajectories === 0 ? <Empty>No trajectory has started yet.</Empty> : <Board run={run} flow={flow} />)}
      </Waiting>
    </RunPage>
  );
}

const fateNotes: Readonly<Record<string, string>> = {
  trained: 'a step learned from it',
  collected: 'kept in a batch of a run whose policy the trainer does not train',
  discarded: 'not trained on, or in a step that a rewind abandoned',
  lost: 'given up, and not trained on or discarded since',
  open: 'finished, not yet trained on or discarded',
  running: 'not finished',
};

function Board({ run, flow }: { readonly run: string; readonly flow: ApiFlow }): JSX.Element {
  const nowMs = useMemo(
    () => Math.max(...(flow.columns['end_ms'] ?? [0]).slice(-5_000), flow.columns['start_ms']?.at(-1) ?? 0) + 1_000,
    [flow],
  );
  const layout = useMemo(() => packFlow(flow, nowMs), [flow, nowMs]);
  const longestMs = useMemo(() => longestOf(flow, nowMs), [flow, nowMs]);
  const hidden = (parameter('hide') ?? '').split(',');
  const fates = new Set(flow.fates.filter((fate) => !hidden.includes(fate)));
  const counts = useMemo(() => countsOf(flow), [flow]);
  const toggle = (fate: string): void =>
    change({ hide: (hidden.includes(fate) ? hidden.filter((one) => one !== fate) : [...hidden, fate]).filter(Boolean).join(',') });
  useKeys(
    'Flow',
    flow.fates.map((fate, at) => ({ keys: [String(at + 1)], does: `Show or dim: ${fate}`, run: () => toggle(fate) })),
  );
  const first = new Date(layout.startMs).toISOString();
  return (
    <>
      <p class="note">
        {flow.is_whole ? `All ${figure(flow.trajectories)} trajectories` : `The newest ${figure(flow.trajectories)} trajectories`}, up to{' '}
        {figure(layout.lanes)} at once; staleness limit: {figure(flow.max_staleness)} versions. The color of a bar is its first version,
        vertical lines are publications, green ticks at the top are the {figure(flow.steps.numbers.length)} steps, and the thin line after a
        bar is the wait until it is trained on or discarded.{' '}
        {flow.max_staleness !== null && 'A tick in a bar marks when its trajectory becomes too old; the time after that is red. '}
        Bars that end less than half a pixel apart are drawn as one. Wheel: zoom. Drag: move. Click, or <kbd>n</kbd> and <kbd>p</kbd>, then{' '}
        <kbd>Enter</kbd>: open.{' '}
        {!flow.is_whole && (
          <button type="button" class="chip" onClick={() => change({ until: first, from: undefined, to: undefined }, true)}>
            Earlier
          </button>
        )}
      </p>
      <div class="chips" role="group" aria-label="Fates">
        {flow.fates.map((fate, at) => (
          <button
            key={fate}
            type="button"
            class={`chip fate-${fate}`}
            aria-pressed={fates.has(fate)}
            title={fateNotes[fate]}
            onClick={() => toggle(fate)}
          >
            {fate} {figure(counts[at] ?? 0)} <kbd>{at + 1}</kbd>
          </button>
        ))}
      </div>
      {(!flow.is_whole || parameter('until') !== undefined) && <FlowStrip run={run} flow={flow} />}
      <FlowCanvas run={run} flow={flow} layout={layout} longestMs={longestMs} fates={fates} />
      <Reasons flow={flow} run={run} />
    </>
  );
}

function countsOf(flow: ApiFlow): readonly number[] {
  const counts = flow.fates.map(() => 0);
  for (const fate of flow.columns['fate'] ?? []) counts[fate] = (counts[fate] ?? 0) + 1;
  return counts;
}

/** Discarded and lost attempts of the loaded range by reason, with a link to the page that compares kept and discarded trajectories. */
function Reasons({ flow, run }: { readonly flow: ApiFlow; readonly run: string }): JSX.Element | null {
  const counts = new Map<string, number>();
  for (const [at, reason] of (flow.columns['reason'] ?? []).entries()) {
    if (reason === 0) continue;
    const name = `${flow.fates[flow.columns['fate']?.[at] ?? 0] ?? ''}: ${flow.reasons[reason] ?? ''}`.replaceAll('_', ' ');
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  if (counts.size === 0) return null;
  return (
    <p class="note">
      {[...counts].map(([name, number]) => `${visible(name)} ${figure(number)}`).join(', ')}.{' '}
      <a href={`/runs/${encodeURIComponent(run)}/dropped`}>Kept against dropped</a>
    </p>
  );
}
