// The live log, newest first. While the list is paused, events are counted and not shown, so that rows being read stay in place. Scrolling
// down pauses it.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { refresh, useAnswer } from '../data/answers.ts';
import { liveState, useLive } from '../data/live.ts';
import {
  fitsTail,
  hold,
  KEPT_EVENTS,
  linkOf,
  liveTypes,
  nothingHeld,
  placeOf,
  summaryOf,
  typesIn,
  withEvents,
  type LiveEvent,
} from '../data/live-shapes.ts';
import { isPassing, type ApiProblem } from '../data/request.ts';
import { figure } from '../kit/format.ts';
import { Text } from '../kit/parts.tsx';
import { runUrl } from '../kit/run-page.tsx';
import { Empty, Failed } from '../kit/states.tsx';
import { ROW_PX, rowsAt } from '../kit/window.ts';
import { useKeys } from '../shell/keys.ts';
import { change, parameter } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';

const DRAW_MS = 100;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Why the stream does not open. Browsers do not tell the page, so it requests the run, or the runs, as well. */
function useRefusal(run: string | undefined): ApiProblem | undefined {
  const url = run === undefined ? '/v1/runs?limit=1&fields=run_id' : runUrl(run);
  const { problem } = useAnswer(url);
  const state = liveState.value;
  useEffect(() => {
    if (state === 'away') refresh(url);
  }, [state, url]);
  return state === 'live' || problem === undefined || isPassing(problem) ? undefined : problem;
}

export function Live(): JSX.Element {
  useTitle('Live');
  const run = parameter('run');
  const paused = parameter('paused') === '1';
  const chosen = typesIn(parameter('types'));
  const [events, setEvents] = useState<readonly LiveEvent[]>([]);
  const [gap, setGap] = useState('');
  const waiting = useRef(nothingHeld);
  const [held, setHeld] = useState(0);
  const refusal = useRefusal(run);
  const filter = { run, worker: parameter('worker'), tool: parameter('tool') };
  // filtered before the list is cut, so that rare events are not pushed out by others
  const wanted = useRef(filter);
  wanted.current = filter;
  useLive({
    run,
    types: chosen,
    concerns: (event) => fitsTail(event, wanted.current),
    onEvent: (event) => (waiting.current = hold(waiting.current, event)),
    onGap: setGap,
  });
  useEffect(() => {
    const timer = setInterval(() => {
      const { count, newest } = waiting.current;
      if (count === 0) return;
      if (paused) {
        setHeld(count);
        return;
      }
      waiting.current = nothingHeld;
      setEvents((kept) => withEvents(kept, newest));
    }, DRAW_MS);
    return () => clearInterval(timer);
  }, [paused]);
  const resume = (): void => {
    setHeld(0);
    document.querySelector('.tail')?.scrollTo(0, 0);
    change({ paused: undefined });
  };
  const toggle = (): void => (paused ? resume() : change({ paused: 1 }));
  useKeys('Live', [
    { keys: ['f', ' '], does: 'Follow, or pause', run: toggle },
    { keys: ['/'], does: 'Filter', run: () => document.getElementById('live-run')?.focus() },
  ]);
  const shown = events.filter((event) => fitsTail(event, filter));
  const isFiltered = events.length > 0 || filter.worker !== undefined || filter.tool !== undefined;
  return (
    <div class="fill">
      <div class="head">
        <h1>Live</h1>
        <button type="button" class={`chip ${paused ? '' : 'live'}`} aria-pressed={!paused} onClick={toggle}>
          {paused ? 'Paused' : 'Following'} <kbd>f</kbd>
        </button>
        {held > 0 && paused && (
          <button type="button" class="chip live" onClick={resume}>
            {figure(held)} since: show{held > KEPT_EVENTS && ` the newest ${figure(KEPT_EVENTS)}`}
          </button>
        )}
      </div>
      <Types chosen={chosen} />
      <div class="chips">
        {(['run', 'worker', 'tool'] as const).map((name) => (
          <input
            key={name}
            id={`live-${name}`}
            aria-label={name}
            placeholder={name}
            value={parameter(name) ?? ''}
            onChange={(event) => change({ [name]: event.currentTarget.value.trim() })}
          />
        ))}
      </div>
      {gap !== '' && <Failed problem={{ status: 0, code: 'GAP', detail: gap }} />}
      {refusal !== undefined && <Failed problem={refusal} />}
      {shown.length > 0 && <Tail events={shown} onScrolled={() => change({ paused: 1 })} />}
      {shown.length === 0 && refusal === undefined && <Nothing paused={paused} filtered={isFiltered} />}
      <p class="note" role="status">
        {figure(shown.length)} of the newest events, newest first; the rest is in the log and in SQL
      </p>
    </div>
  );
}

function Types({ chosen }: { readonly chosen: readonly string[] }): JSX.Element {
  const toggle = (type: string): void => {
    const next = chosen.includes(type) ? chosen.filter((one) => one !== type) : [...chosen, type];
    change({ types: next.length === 0 ? type : next.join(',') });
  };
  return (
    <details class="choice">
      <summary>
        Events{' '}
        <small>
          {chosen.length} of {liveTypes.length} types
        </small>
      </summary>
      <div class="chips" role="group" aria-label="Types of events">
        {liveTypes.map((type) => (
          <button key={type} type="button" class="chip" aria-pressed={chosen.includes(type)} onClick={() => toggle(type)}>
            {type}
          </button>
        ))}
      </div>
    </details>
  );
}

function Nothing({ paused, filtered }: { readonly paused: boolean; readonly filtered: boolean }): JSX.Element {
  if (filtered) return <Empty>No received event matches these filters.</Empty>;
  if (paused) return <Empty>Paused before the first event.</Empty>;
  return liveState.value === 'away' ? (
    <Empty>The stream is disconnected; the page reconnects by itself.</Empty>
  ) : (
    <Empty>Waiting for the next event. Nothing was written since this page was opened.</Empty>
  );
}

interface TailProps {
  readonly events: readonly LiveEvent[];
  readonly onScrolled: () => void;
}

function Tail({ events, onScrolled }: TailProps): JSX.Element {
  const [top, setTop] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState(600);
  const first = useRef<string | undefined>(undefined);
  /** The last known position, also after this component scrolled. */
  const last = useRef(0);
  useEffect(() => setHeight(box.current?.clientHeight ?? 600), []);
  useEffect(() => {
    // rows are added at the top; if the reader has scrolled down, keep the visible rows in place
    const list = box.current;
    const before = first.current === undefined ? -1 : events.findIndex((event) => placeOf(event) === first.current);
    first.current = events[0] === undefined ? undefined : placeOf(events[0]);
    if (list === null || list.scrollTop === 0 || before <= 0) return;
    list.scrollTop += before * ROW_PX;
    last.current = list.scrollTop;
  }, [events]);
  const { from, to } = rowsAt(top, height, events.length);
  return (
    <div
      ref={box}
      class="rows tail"
      tabIndex={0}
      role="table"
      aria-label="Events"
      onScroll={({ currentTarget: { scrollTop } }) => {
        setTop(scrollTop);
        if (scrollTop > last.current) onScrolled();
        last.current = scrollTop;
      }}
    >
      <div class="body" role="rowgroup" style={{ height: `${events.length * ROW_PX}px` }}>
        {events.slice(from, to).map((event, at) => (
          <Line key={placeOf(event)} event={event} at={from + at} />
        ))}
      </div>
    </div>
  );
}

function Line({ event, at }: { readonly event: LiveEvent; readonly at: number }): JSX.Element {
  const link = linkOf(event);
  const name = textOf(event.event['trajectory_id'] ?? event.event['run_id']);
  return (
    <div class="tail-row" role="row" aria-rowindex={at + 1} style={{ transform: `translateY(${at * ROW_PX}px)` }}>
      <span role="cell" class="dim" title={new Date(event.timestamp_ms).toISOString()}>
        {new Date(event.timestamp_ms).toISOString().slice(11, 23)}
      </span>
      <span role="cell">{event.type}</span>
      <span role="cell">
        {link === undefined ? (
          <Text>{name}</Text>
        ) : (
          <a href={link}>
            <Text>{name}</Text>
          </a>
        )}
      </span>
      <span role="cell">
        <Text title>{summaryOf(event)}</Text>
      </span>
      <span role="cell" class="dim" title="Place in the log">
        {event.topic.split('.').at(-1)} {event.partition}/{event.offset}
      </span>
    </div>
  );
}
