// Read-only SQL over all tables. The statement and the choice of table or chart are in the address, so that a link shows the same.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import { ask, type ApiProblem } from '../data/request.ts';
import { figure } from '../kit/format.ts';
import { Empty, Failed, Loading, Waiting } from '../kit/states.tsx';
import { visible } from '../kit/visible.ts';
import { copy } from '../shell/common-keys.ts';
import { useKeys } from '../shell/keys.ts';
import { change, parameter, place } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';
import { SqlChart } from './sql-chart.tsx';
import type { ApiTable } from './sql-complete.ts';
import { SqlEditor } from './sql-editor.tsx';
import { cellText, isNumberType, type SqlResult } from './sql-result.ts';

type QueryState =
  | { readonly kind: 'none' }
  | { readonly kind: 'running' }
  | { readonly kind: 'failed'; readonly problem: ApiProblem }
  | { readonly kind: 'done'; readonly result: SqlResult; readonly ms: number };

const MOST_ROWS = 1_000;
const MOST_CHARS = 400;
const starter = 'SELECT step, reward_mean, f1_mean, staleness_mean, staleness_max\nFROM steps ORDER BY at DESC LIMIT 20';

function curlOfQuery(query: string): string {
  const body = JSON.stringify({ query, format: 'JSON' }).replaceAll("'", String.raw`'\''`);
  return `curl -s ${location.origin}/v1/sql -H 'content-type: application/json' -d '${body}'`;
}

export function Sql(): JSX.Element {
  useTitle('SQL');
  const asked = parameter('q');
  const tables = useAnswer<{ readonly items: readonly ApiTable[] }>('/v1/sql/tables');
  const [text, setText] = useState(asked ?? starter);
  const [outcome, setOutcome] = useState<QueryState>({ kind: 'none' });
  const newest = useRef(0);
  const run = async (query: string): Promise<void> => {
    newest.current += 1;
    const own = newest.current;
    setOutcome({ kind: 'running' });
    const started = performance.now();
    const answer = await ask<SqlResult>('/v1/sql', { method: 'POST', body: { query, format: 'JSON' } });
    if (own !== newest.current) return;
    setOutcome(
      answer.ok ? { kind: 'done', result: answer.value, ms: performance.now() - started } : { kind: 'failed', problem: answer.problem },
    );
  };
  useEffect(() => {
    if (asked === undefined) return;
    setText(asked);
    void run(asked);
  }, [asked]);
  const submit = (): void => {
    if (text === asked) void run(text);
    else change({ q: text }, true);
  };
  const copyCurl = (): void => void copy(curlOfQuery(text), 'a curl command');
  useKeys('SQL', [
    { keys: ['Ctrl enter'], does: 'Run the statement', run: submit },
    { keys: ['c'], does: 'Copy the statement as curl', run: copyCurl },
    { keys: ['/'], does: 'Edit the statement', run: () => document.querySelector<HTMLElement>('.editor textarea')?.focus() },
    { keys: ['v'], does: 'Table or chart', run: () => change({ view: parameter('view') === 'chart' ? '' : 'chart' }) },
  ]);
  return (
    <>
      <div class="head">
        <h1>SQL</h1>
        <small>Read only. Names are completed as you type; Ctrl Space lists them.</small>
      </div>
      <div class="sql">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <SqlEditor text={text} tables={tables.value?.items ?? []} onText={setText} onRun={submit} />
          <div class="chips">
            <button type="submit">
              Run <kbd>Ctrl Enter</kbd>
            </button>
            <button type="button" class="chip" onClick={copyCurl}>
              Copy as curl <kbd>c</kbd>
            </button>
            <button type="button" class="chip" onClick={() => void copy(linkTo(text), 'a link to this statement')}>
              Copy link <kbd>y</kbd>
            </button>
          </div>
        </form>
        <Tables shown={tables} onName={(name) => setText(`${text.trimEnd()} ${name}`)} />
      </div>
      <Answer outcome={outcome} />
    </>
  );
}

/** The address of a statement, whether it was run or not. */
function linkTo(query: string): string {
  const url = new URL(place.peek());
  url.searchParams.set('q', query);
  return url.href;
}

interface TablesProps {
  readonly shown: ReturnType<typeof useAnswer<{ readonly items: readonly ApiTable[] }>>;
  readonly onName: (name: string) => void;
}

const Tables = ({ shown, onName }: TablesProps): JSX.Element => (
  <nav class="tables" aria-label="Tables" tabIndex={0}>
    <Waiting shown={shown} of="the tables">
      {({ items }) =>
        items.map(({ table, columns }) => (
          <details key={table}>
            <summary>
              {table} <small>{figure(columns.length)}</small>
            </summary>
            <button type="button" class="chip" onClick={() => onName(table)}>
              insert the name
            </button>
            <dl>
              {columns.map(({ name, type, comment }) => (
                <div key={name} title={comment}>
                  <dt>{name}</dt>
                  <dd>{type}</dd>
                </div>
              ))}
            </dl>
          </details>
        ))
      }
    </Waiting>
  </nav>
);

function Answer({ outcome }: { readonly outcome: QueryState }): JSX.Element | null {
  if (outcome.kind === 'none') return null;
  if (outcome.kind === 'running') return <Loading of="the answer" />;
  if (outcome.kind === 'failed') return <Failed problem={outcome.problem} />;
  const { result, ms } = outcome;
  if (result.data.length === 0) return <Empty>The statement returned no rows.</Empty>;
  const view = parameter('view') === 'chart' ? 'chart' : 'table';
  return (
    <>
      <div class="chips" role="group" aria-label="Shown as">
        {(['table', 'chart'] as const).map((one) => (
          <button
            key={one}
            type="button"
            class="chip"
            aria-pressed={one === view}
            onClick={() => change({ view: one === 'table' ? '' : one })}
          >
            {one}
          </button>
        ))}
        <span class="note" role="status">
          {figure(result.rows)} rows in {figure(Math.round(ms))} ms
          {view === 'table' && result.rows > MOST_ROWS && `; the first ${figure(MOST_ROWS)} are shown`}
        </span>
      </div>
      {view === 'chart' ? <SqlChart result={result} /> : <Rows result={result} />}
    </>
  );
}

const Rows = ({ result: { meta, data } }: { readonly result: SqlResult }): JSX.Element => (
  <div class="scroller" tabIndex={0} role="region" aria-label="Rows">
    <table>
      <thead>
        <tr>
          {meta.map(({ name, type }) => (
            <th key={name} title={type} class={isNumberType(type) ? 'number' : ''}>
              {visible(name)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {data.slice(0, MOST_ROWS).map((row, at) => (
          <tr key={at}>
            {meta.map(({ name, type }) => (
              <td key={name} class={isNumberType(type) ? 'number' : ''}>
                {visible(cellText(row[name], MOST_CHARS))}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
