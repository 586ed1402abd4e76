// One trajectory of any length. The list of turns comes from one response without texts; the selected turn is loaded separately. The
// selected turn, the attempt, the view, and the search text are in the address.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { refresh, useAnswer } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import type { ApiTurnMatches, ApiOutline, ApiTrajectoryReport } from '../data/shapes.ts';
import { reportUrl } from '../data/addresses.ts';
import { count, duration, figure, versions } from '../kit/format.ts';
import { Badge, RunTabs, Text, When } from '../kit/parts.tsx';
import { Empty, Failed, Waiting } from '../kit/states.tsx';
import { useKeys } from '../shell/keys.ts';
import { compareWithMarked, mark } from '../shell/mark.ts';
import { address, type PatternParts } from '../shell/patterns.ts';
import { change, numberParameter, parameter } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';
import { countedAttempt, fateOf } from './fate.ts';
import { Follow } from './follow.tsx';
import { RegexSwitch, soughtAs, soughtIn } from './regex-switch.tsx';
import { Mates } from './mates.tsx';
import { Neighbors } from './neighbors.tsx';
import { useOutline, type ShownOutline } from './outline-answer.ts';
import { failures, nextOf, placeOf, rowAt, spanOf } from './outline.ts';
import { Transcript } from './transcript.tsx';
import { TurnList } from './turn-list.tsx';
import { TurnPane } from './turn-pane.tsx';

/** How often a running attempt is reloaded, ms. */
const GROWS_MS = 2_000;

export const views = ['transcript', 'turn', 'waterfall', 'tokens', 'raw'] as const;
export type TrajectoryView = (typeof views)[number];

const viewOf = (name: string | undefined): TrajectoryView => views.find((view) => view === name) ?? 'turn';

export function TrajectoryPage({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const [run, id] = [parts['run'] ?? '', parts['trajectory'] ?? ''];
  useTitle(id);
  const shown = useAnswer<ApiTrajectoryReport>(reportUrl(run, id));
  const isRunning = shown.value?.attempts.some(({ status }) => status === 'running' || status === 'requested') ?? false;
  useLive({
    run,
    types: ['StepCompleted', 'BatchCollected', 'RunRewound', 'TrajectoryDiscarded', 'TrajectoryExpired', 'TrajectoryFinished'],
    refreshes: [`/v1/trajectories/${encodeURIComponent(id)}`],
  });
  const grows = isRunning || parameter('follow') === '1';
  // polled, because the live stream would send the turns of the whole run, and few of them are of this trajectory
  useEffect(() => {
    if (!grows) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) refresh(`/v1/trajectories/${encodeURIComponent(id)}`);
    }, GROWS_MS);
    return () => clearInterval(timer);
  }, [grows, id]);
  return (
    <div class="fill">
      <Waiting shown={shown} of="the trajectory">
        {(report) => <Report run={run} report={report} />}
      </Waiting>
    </div>
  );
}

function Report({ run, report }: { readonly run: string; readonly report: ApiTrajectoryReport }): JSX.Element {
  // chosen once, and then kept in the address, so that a refresh does not switch to another attempt
  const counted = useMemo(() => countedAttempt(report), [report.trajectory_id]);
  const asked = numberParameter('attempt');
  const attempt = asked ?? counted;
  useEffect(() => {
    if (asked === undefined) change({ attempt });
  }, [report.trajectory_id]);
  const outline = useOutline(run, report.trajectory_id, attempt);
  const one = report.attempts.find((each) => each.attempt === attempt);
  useKeys('Trajectory', [
    { keys: ['m'], does: 'Mark', run: () => mark(run, { trajectory_id: report.trajectory_id, attempt }) },
    { keys: ['d'], does: 'Compare to the marked one', run: () => compareWithMarked(run, { trajectory_id: report.trajectory_id, attempt }) },
  ]);
  return (
    <>
      <div class="head">
        <h1 class="question">
          <Text>{report.question === '' ? report.trajectory_id : report.question}</Text>
        </h1>
        <Neighbors run={run} id={report.trajectory_id} attempt={attempt} isWanted={outline.isSettled} />
      </div>
      <RunTabs run={run} />
      <p class="note">
        <code>
          <Text>{report.trajectory_id}</Text>
        </code>{' '}
        in group{' '}
        <a href={address('/runs/:run/groups/:group', { run, group: report.group_id })}>
          <Text>{report.group_id}</Text>
        </a>
        {one?.result !== null && one?.result !== undefined && (
          <>
            {' '}
            · <Badge state={one.result.status} /> · reward <b>{figure(one.result.reward)}</b> · F1 {figure(one.result.f1)} ·{' '}
            {versions(one.result.version_first, one.result.version_last)} · answer{' '}
            <Text>{one.result.answer === '' ? '(none)' : one.result.answer}</Text>
          </>
        )}
      </p>
      {report.attempts.length > 1 && (
        <div class="chips" role="group" aria-label="Attempts">
          {report.attempts.map((each) => (
            <button
              key={each.attempt}
              type="button"
              class="chip"
              aria-pressed={each.attempt === attempt}
              onClick={() => change({ attempt: each.attempt, turn: '' }, true)}
            >
              attempt {each.attempt}: <Text>{each.status}</Text>
            </button>
          ))}
        </div>
      )}
      <Mates key={report.group_id} run={run} report={report} attempt={attempt} isWanted={outline.isSettled} />
      <Fate run={run} report={report} attempt={attempt} />
      <Turns key={attempt} run={run} id={report.trajectory_id} attempt={attempt} shown={outline} />
    </>
  );
}

const stateMarks = { done: '●', bad: '▲', open: '○' } as const;

function Fate({
  run,
  report,
  attempt,
}: {
  readonly run: string;
  readonly report: ApiTrajectoryReport;
  readonly attempt: number;
}): JSX.Element {
  return (
    <ol class="fate" aria-label="What became of the attempt">
      {fateOf(report, attempt).map(({ name, state, at, note, step }) => (
        <li key={name} class={state}>
          <span aria-hidden="true">{stateMarks[state]}</span>{' '}
          <b>
            {step === undefined ? (
              <Text>{name}</Text>
            ) : (
              <a href={address('/runs/:run/steps/:step', { run, step: String(step) })}>
                <Text>{name}</Text>
              </a>
            )}
          </b>{' '}
          {at !== null && <When at={at} />}
          {note !== '' && (
            <small>
              {' '}
              <Text>{note}</Text>
            </small>
          )}
        </li>
      ))}
    </ol>
  );
}

interface TurnsProps {
  readonly run: string;
  readonly id: string;
  readonly attempt: number;
  readonly shown: ShownOutline;
}

function Turns({ run, id, attempt, shown }: TurnsProps): JSX.Element {
  const where = `run=${encodeURIComponent(run)}&attempt=${attempt}`;
  const base = `/v1/trajectories/${encodeURIComponent(id)}`;
  const sought = parameter('find');
  const found = useAnswer<ApiTurnMatches>(
    sought === undefined ? undefined : `${base}/find?${where}&${soughtAs()}=${encodeURIComponent(sought)}`,
  );
  return (
    <Waiting shown={shown} of="the turns">
      {(outline) =>
        outline.turns === 0 ? (
          <Empty>This attempt has no turns: it ended before its first decision, or its turns are not stored yet.</Empty>
        ) : (
          <>
            {found.problem !== undefined && <Failed problem={found.problem} />}
            <Reader run={run} id={id} outline={outline} found={sought === undefined ? undefined : found.value} />
          </>
        )
      }
    </Waiting>
  );
}

interface ReaderProps {
  readonly run: string;
  readonly id: string;
  readonly outline: ApiOutline;
  readonly found: ApiTurnMatches | undefined;
}

function Reader({ run, id, outline, found }: ReaderProps): JSX.Element {
  const at = Math.min(outline.turns - 1, placeOf(outline, numberParameter('turn') ?? 0));
  const view = viewOf(parameter('view'));
  const matches = useMemo(() => (found?.items ?? []).map(({ turn }) => placeOf(outline, turn)), [outline, found]);
  const wantsLast = useRef(false);
  const select = (to: number | undefined): void => {
    if (to === undefined) return;
    wantsLast.current = false;
    change({ turn: rowAt(outline, Math.max(0, Math.min(outline.turns - 1, to))).turn });
  };
  const selectLast = (): void => {
    select(outline.turns - 1);
    wantsLast.current = !outline.is_whole;
  };
  // the key was pressed while only the first turns were here
  useEffect(() => {
    if (wantsLast.current) selectLast();
  }, [outline.is_whole]);
  const errors = failures(outline);
  useKeys('Turns', [
    { keys: ['j', 'ArrowDown'], does: 'Next turn', run: () => select(at + 1) },
    { keys: ['k', 'ArrowUp'], does: 'Previous turn', run: () => select(at - 1) },
    { keys: ['PageDown'], does: 'Twenty turns forward', run: () => select(at + 20) },
    { keys: ['PageUp'], does: 'Twenty turns back', run: () => select(at - 20) },
    { keys: ['g g', 'Home'], does: 'First turn', run: () => select(0) },
    { keys: ['G', 'End'], does: 'Last turn', run: selectLast },
    { keys: ['e'], does: 'Next failed call', run: () => select(nextOf(errors, at, 1)) },
    { keys: ['E'], does: 'Previous failed call', run: () => select(nextOf(errors, at, -1)) },
    { keys: ['n'], does: 'Next match', run: () => select(nextOf(matches, at, 1)) },
    { keys: ['N'], does: 'Previous match', run: () => select(nextOf(matches, at, -1)) },
    { keys: ['/'], does: 'Find', run: () => document.getElementById('find')?.focus() },
    { keys: ['v'], does: 'Next view', run: () => change({ view: views[(views.indexOf(view) + 1) % views.length] }) },
  ]);
  const span = spanOf(outline);
  return (
    <>
      <div class="bar">
        <Find found={found} onNext={() => select(nextOf(matches, at, 1))} />
        <span class="grow" />
        <Follow outline={outline} at={at} select={select} />
        <small>
          {!outline.is_whole && 'first '}
          {count(outline.turns, 'turn')} in {duration(span.endMs - span.startMs)}, {count(errors.length, 'failed call')}
        </small>
        <div class="chips" role="group" aria-label="View">
          {views.map((one) => (
            <button
              key={one}
              type="button"
              class="chip"
              aria-pressed={view === one}
              onClick={() => change({ view: one === 'turn' ? '' : one })}
            >
              {one}
            </button>
          ))}
        </div>
      </div>
      <div class={`reader ${view}`}>
        <TurnList outline={outline} at={at} matches={matches} onSelect={select} waterfall={view === 'waterfall'} />
        {view === 'transcript' && (
          <Transcript key={id} {...{ run, id, outline, at }} onSelect={select} soughtOf={(turn) => soughtIn(found, turn)} />
        )}
        {view !== 'transcript' && view !== 'waterfall' && (
          <TurnPane
            run={run}
            id={id}
            attempt={outline.attempt}
            turn={rowAt(outline, at).turn}
            view={view}
            sought={soughtIn(found, rowAt(outline, at).turn)}
          />
        )}
      </div>
    </>
  );
}

interface FindProps {
  readonly found: ApiTurnMatches | undefined;
  readonly onNext: () => void;
}

/** The text to find, and how many turns contain it. */
function Find({ found, onNext }: FindProps): JSX.Element {
  return (
    <>
      <form
        role="search"
        class="inline"
        onSubmit={(event) => {
          event.preventDefault();
          const text = new FormData(event.currentTarget).get('find');
          change({ find: typeof text === 'string' ? text : '' });
          (document.activeElement as HTMLElement | null)?.blur();
        }}
      >
        <input
          id="find"
          name="find"
          type="search"
          placeholder="Find in all turns"
          aria-label="Find in all turns"
          value={parameter('find') ?? ''}
          maxLength={500}
        />
        <RegexSwitch />
      </form>
      {found !== undefined && (
        <span role="status" class="note">
          {found.items.length === 0 ? 'no turn matches' : `${found.is_whole ? '' : 'more than '}${count(found.items.length, 'turn')}`}
          {found.items.length > 0 && (
            <button type="button" class="chip" onClick={onNext}>
              next <kbd>n</kbd>
            </button>
          )}
        </span>
      )}
    </>
  );
}
