// Workers with the policy versions that each used over time, and how much room for new groups the trainer had.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import type { ApiPage } from '../data/shapes.ts';
import type { ApiAdmissionSpan, ApiSync, ApiWorker } from '../data/watch-shapes.ts';
import { drawStrip, drawSwim, swimOf } from '../charts/swim.ts';
import { duration, figure, percent } from '../kit/format.ts';
import { Text, When } from '../kit/parts.tsx';
import { RunPage, runUrl } from '../kit/run-page.tsx';
import { Empty, NotRecorded, Waiting } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { useKeys } from '../shell/keys.ts';
import { address, type PatternParts } from '../shell/patterns.ts';
import { change, numberParameter } from '../shell/place.ts';

const VERSIONS = 12;
/** Number of spans that the admissions of a run are divided into. */
const POINTS = 600;

export function Workers({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  const to = numberParameter('version');
  const workers = useAnswer<{ readonly items: readonly ApiWorker[] }>(runUrl(run, '/workers'));
  const syncs = useAnswer<{ readonly items: readonly ApiSync[] }>(
    runUrl(run, `/syncs?versions=${VERSIONS}${to === undefined ? '' : `&to_version=${to}`}`),
  );
  const admissions = useAnswer<ApiPage<ApiAdmissionSpan>>(runUrl(run, `/admissions?points=${POINTS}`));
  useLive({
    run,
    types: ['PolicyPublished', 'StepCompleted'],
    refreshes: [runUrl(run, '/workers'), runUrl(run, '/syncs'), runUrl(run, '/admissions')],
  });
  return (
    <RunPage run={run} title="Workers">
      <Waiting shown={workers} of="the workers">
        {({ items }) =>
          items.length === 0 ? (
            <Empty>No worker has started a trajectory yet.</Empty>
          ) : (
            <Table label="Workers" rows={items} columns={columnsOf(run)} keyOf={({ worker_id }) => worker_id} />
          )
        }
      </Waiting>
      <h2>Weights in use</h2>
      <Waiting shown={syncs} of="the weights in use">
        {({ items }) =>
          items.length === 0 ? <NotRecorded>No turn of this run names the version that wrote it.</NotRecorded> : <Swim items={items} />
        }
      </Waiting>
      <h2>Admissions</h2>
      <Waiting shown={admissions} of="the admissions">
        {({ items }) =>
          items.length === 0 ? (
            <NotRecorded>No trainer of turnstream admitted groups in this run.</NotRecorded>
          ) : (
            <Admissions items={items} />
          )
        }
      </Waiting>
    </RunPage>
  );
}

const columnsOf = (run: string): readonly TableColumn<ApiWorker>[] => [
  {
    name: 'Worker',
    of: ({ worker_id }) => (
      <a href={address('/runs/:run/trajectories', { run }, { worker: worker_id })}>
        <Text>{worker_id}</Text>
      </a>
    ),
  },
  { name: 'Running', number: true, of: ({ running }) => figure(running) },
  { name: 'Started', number: true, of: ({ started }) => figure(started) },
  { name: 'Finished', number: true, of: ({ finished }) => figure(finished) },
  { name: 'Failed', number: true, of: ({ failed }) => figure(failed) },
  { name: 'Lost', number: true, of: ({ lost }) => figure(lost) },
  { name: 'Late', number: true, of: ({ late }) => figure(late) },
  { name: 'Reward', number: true, of: ({ reward_mean }) => figure(reward_mean) },
  { name: 'Tool failures', number: true, of: ({ tool_failure_rate }) => percent(tool_failure_rate) },
  { name: 'A turn takes', number: true, of: ({ ms_per_turn }) => duration(ms_per_turn) },
  { name: 'Of the median', number: true, of: ({ slowness }) => (slowness === null ? '–' : `${figure(slowness, 2)} ×`) },
  {
    name: 'Longest silence',
    number: true,
    of: ({ longest_silence_s }) => (longest_silence_s === null ? '–' : duration(longest_silence_s * 1_000)),
  },
  { name: 'Last heartbeat', of: ({ last_heartbeat_at }) => <When at={last_heartbeat_at} /> },
];

function Swim({ items }: { readonly items: readonly ApiSync[] }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const swim = useMemo(() => swimOf(items), [items]);
  useEffect(() => {
    const box = canvas.current;
    if (box === null) return undefined;
    const draw = (): void => drawSwim(box, swim);
    const watch = new ResizeObserver(draw);
    watch.observe(box);
    draw();
    return () => watch.disconnect();
  }, [swim]);
  const newest = items.at(-1)?.version ?? 0;
  const earlier = (): void => change({ version: Math.max(0, newest - VERSIONS) }, true);
  const later = (): void => change({ version: newest + VERSIONS }, true);
  useKeys('Workers', [
    { keys: ['['], does: 'Earlier versions', run: earlier },
    { keys: [']'], does: 'Later versions', run: later },
  ]);
  const lags = items.flatMap(({ lag_ms }) => (lag_ms === null ? [] : [lag_ms])).sort((a, b) => a - b);
  return (
    <>
      <p class="note">
        Versions {figure(items[0]?.version)} to {figure(newest)}, one lane per worker; colors are versions, lines are publications.{' '}
        {lags.length === 0
          ? 'When they were published was not recorded.'
          : `From a publication to the first turn with it: median ${duration(lags[Math.floor(lags.length / 2)])}, longest ${duration(lags.at(-1))}.`}{' '}
        <button type="button" class="chip" onClick={earlier}>
          Earlier <kbd>[</kbd>
        </button>{' '}
        <button type="button" class="chip" onClick={later}>
          Later <kbd>]</kbd>
        </button>
      </p>
      <canvas
        ref={canvas}
        class="flow"
        style={{ height: `${24 + swim.workers.length * 20}px` }}
        role="img"
        aria-label={`${swim.workers.length} workers on ${new Set(items.map(({ version }) => version)).size} versions`}
      />
    </>
  );
}

function Admissions({ items }: { readonly items: readonly ApiAdmissionSpan[] }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const rows = useMemo(() => [...items].reverse(), [items]);
  useEffect(() => {
    const box = canvas.current;
    if (box === null) return undefined;
    const draw = (): void =>
      drawStrip(box, [
        { values: rows.map(({ running_max }) => running_max), color: '--line-1' },
        { values: rows.map(({ max_concurrent }) => max_concurrent), color: '--dim' },
        { values: rows.map(({ capacity_min }) => capacity_min), color: '--line-2' },
      ]);
    const watch = new ResizeObserver(draw);
    watch.observe(box);
    draw();
    return () => watch.disconnect();
  }, [rows]);
  const last = rows.at(-1);
  const admissions = rows.reduce((sum, row) => sum + row.admissions, 0);
  const full = rows.filter(({ capacity_min }) => capacity_min <= 0).length;
  return (
    <>
      <p class="note">
        All {figure(admissions)} admissions
        {admissions > rows.length && ` in ${figure(rows.length)} spans, with the highest running and the lowest room of each`}: running{' '}
        <b class="ink-1">{figure(last?.running)}</b> of at most {figure(last?.max_concurrent)}, room for{' '}
        <b class="ink-2">{figure(last?.capacity)}</b> now. In {percent(full / rows.length)} of them there was no room at some time: the
        limit of staleness or of concurrency held new groups back.
      </p>
      <canvas
        ref={canvas}
        class="flow"
        style={{ height: '90px' }}
        role="img"
        aria-label={`Running ${last?.running ?? 0}, capacity ${last?.capacity ?? 0}`}
      />
    </>
  );
}
