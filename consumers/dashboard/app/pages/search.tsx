// Search in the texts of a run: model output, tool arguments, and tool results. The store does the search; results are in the order of the
// table's key.
import type { JSX } from 'preact';
import type { ApiRun } from '../data/shapes.ts';
import { figure } from '../kit/format.ts';
import { Text } from '../kit/parts.tsx';
import { Empty, Failed, Loading } from '../kit/states.tsx';
import { visible } from '../kit/visible.ts';
import { useKeys } from '../shell/keys.ts';
import { address } from '../shell/patterns.ts';
import { change, parameter } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';
import { usePages } from './pages-of.ts';
import { RegexSwitch, soughtAs } from './regex-switch.tsx';
import { headOf } from './texts.ts';

interface ApiSearchMatch {
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly turn: number;
  readonly head?: string;
  readonly arguments?: string;
  readonly result_head?: string;
  readonly result?: string;
  readonly tool?: string;
}

const places = { texts: 'Model', arguments: 'Arguments', results: 'Results' } as const;
type PlaceOf = keyof typeof places;

function urlOf(run: string, where: PlaceOf, q: string): string {
  const base = `/v1/runs/${encodeURIComponent(run)}`;
  const text = encodeURIComponent(q);
  if (where === 'texts') return `${base}/find?limit=50&${soughtAs()}=${text}`;
  const fields = `trajectory_id,attempt,turn,tool,${where === 'arguments' ? 'arguments' : 'result'}`;
  return `${base}/tool-calls?limit=50&fields=${fields}&${where === 'arguments' ? 'arguments' : 'result'}=${text}`;
}

export function Search(): JSX.Element {
  useTitle('Search');
  const q = parameter('q') ?? '';
  const run = parameter('run') ?? '';
  const where = (parameter('in') ?? 'texts') as PlaceOf;
  const runs = usePages<Pick<ApiRun, 'run_id'>>('/v1/runs?limit=200&fields=run_id');
  const known = runs.items.map(({ run_id }) => run_id);
  useKeys('Search', [{ keys: ['/'], does: 'Search', run: () => document.getElementById('search-text')?.focus() }]);
  return (
    <>
      <div class="head">
        <h1>Search</h1>
      </div>
      <form
        class="chips"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          const data = new FormData(event.currentTarget);
          const text = (name: string): string => {
            const value = data.get(name);
            return typeof value === 'string' ? value : '';
          };
          change({ q: text('q'), run: text('run') }, true);
        }}
      >
        <input id="search-text" name="q" aria-label="Text" placeholder="Text" value={q} size={40} />
        {where === 'texts' && <RegexSwitch />}
        <select name="run" aria-label="Run" value={run === '' ? known[0] : run}>
          {[...new Set([...(run === '' ? [] : [run]), ...known])].map((one) => (
            <option key={one} value={one}>
              {visible(one)}
            </option>
          ))}
        </select>
        {!runs.isWhole && (
          <button type="button" class="chip" onClick={runs.more} disabled={runs.loading}>
            More runs
          </button>
        )}
        <button type="submit">Search</button>
        {(Object.keys(places) as PlaceOf[]).map((one) => (
          <button
            key={one}
            type="button"
            class="chip"
            aria-pressed={where === one}
            onClick={() => change({ in: one === 'texts' ? undefined : one })}
          >
            {places[one]}
          </button>
        ))}
      </form>
      {q === '' || run === '' ? (
        <Empty>Type a text and choose a run. Case does not matter.</Empty>
      ) : (
        <Matches key={`${run} ${where} ${soughtAs()} ${q}`} run={run} where={where in places ? where : 'texts'} q={q} />
      )}
    </>
  );
}

function Matches({ run, where, q }: { readonly run: string; readonly where: PlaceOf; readonly q: string }): JSX.Element {
  const pages = usePages<ApiSearchMatch>(urlOf(run, where, q));
  if (pages.items.length === 0) {
    if (pages.problem !== undefined) return <Failed problem={pages.problem} />;
    return pages.loading ? <Loading of="the matches" /> : <Empty>No {places[where].toLowerCase()} of this run hold this text.</Empty>;
  }
  return (
    <>
      {pages.problem !== undefined && <Failed problem={pages.problem} />}
      <ol class="matches">
        {pages.items.map((match) => (
          <li key={`${match.trajectory_id} ${match.attempt} ${match.turn}`}>
            <a
              href={address(
                '/runs/:run/t/:trajectory',
                { run, trajectory: match.trajectory_id },
                { attempt: match.attempt, turn: match.turn, find: q, as: where === 'texts' ? parameter('as') : undefined },
              )}
            >
              <Text>{match.trajectory_id}</Text> turn {match.turn}
            </a>{' '}
            <Text>{match.head ?? headOf(match.arguments ?? match.result ?? match.result_head ?? '', q)}</Text>
          </li>
        ))}
      </ol>
      <p class="note" role="status">
        {figure(pages.items.length)} turns{pages.isWhole ? ', all of them' : ' so far'}{' '}
        {!pages.isWhole && (
          <button type="button" class="chip" onClick={pages.more} disabled={pages.loading}>
            {pages.loading ? 'Searching…' : 'More'}
          </button>
        )}
      </p>
    </>
  );
}
