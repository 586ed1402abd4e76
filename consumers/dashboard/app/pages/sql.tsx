// SQL over every table, read only. The statement is in the address, so a link shows the same question.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ask, type ApiProblem } from '../data/request.ts';
import { figure } from '../kit/format.ts';
import { visible } from '../kit/visible.ts';
import { Empty, Failed, Loading } from '../kit/states.tsx';
import { useKeys } from '../shell/keys.ts';
import { change, parameter } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';

interface Result {
  readonly meta: readonly { readonly name: string; readonly type: string }[];
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly rows: number;
}

type QueryState =
  | { readonly kind: 'none' }
  | { readonly kind: 'running' }
  | { readonly kind: 'failed'; readonly problem: ApiProblem }
  | { readonly kind: 'done'; readonly result: Result; readonly ms: number };

const MOST_ROWS = 1_000;
const starter = 'SELECT step, reward_mean, f1_mean, staleness_mean, staleness_max\nFROM steps ORDER BY at DESC LIMIT 20';

export function Sql(): JSX.Element {
  useTitle('SQL');
  const asked = parameter('q');
  const [text, setText] = useState(asked ?? starter);
  const [outcome, setOutcome] = useState<QueryState>({ kind: 'none' });
  const run = async (query: string): Promise<void> => {
    setOutcome({ kind: 'running' });
    const started = performance.now();
    const answer = await ask<Result>('/v1/sql', { method: 'POST', body: { query, format: 'JSON' } });
    setOutcome(
      answer.ok ? { kind: 'done', result: answer.value, ms: performance.now() - started } : { kind: 'failed', problem: answer.problem },
    );
  };
  useEffect(() => {
    if (asked !== undefined) void run(asked);
  }, [asked]);
  const submit = (): void => {
    if (text === asked) void run(text);
    else change({ q: text }, true);
  };
  useKeys('SQL', [
    { keys: ['Ctrl enter'], does: 'Run the statement', run: submit },
    { keys: ['c'], does: 'Copy as curl', run: () => void copyCurl(text) },
  ]);
  return (
    <>
      <div class="head">
        <h1>SQL</h1>
        <small>Read only. Tables and columns are at GET /v1/sql/tables.</small>
      </div>
      <form
        class="sql"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <textarea aria-label="Statement" rows={8} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        <div class="chips">
          <button type="submit">
            Run <kbd>Ctrl Enter</kbd>
          </button>
          <button type="button" class="chip" onClick={() => void copyCurl(text)}>
            Copy as curl
          </button>
        </div>
      </form>
      <Answer outcome={outcome} />
    </>
  );
}

function Answer({ outcome }: { readonly outcome: QueryState }): JSX.Element | null {
  if (outcome.kind === 'none') return null;
  if (outcome.kind === 'running') return <Loading of="the answer" />;
  if (outcome.kind === 'failed') return <Failed problem={outcome.problem} />;
  const { result, ms } = outcome;
  if (result.data.length === 0) return <Empty>The statement found no rows.</Empty>;
  return (
    <>
      <p class="note" role="status">
        {figure(result.rows)} rows in {figure(Math.round(ms))} ms{result.rows > MOST_ROWS && `; the first ${figure(MOST_ROWS)} are shown`}
      </p>
      <div class="scroller" tabIndex={0} role="region" aria-label="Rows">
        <table>
          <thead>
            <tr>
              {result.meta.map(({ name, type }) => (
                <th key={name} title={type}>
                  {visible(name)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {result.data.slice(0, MOST_ROWS).map((row, at) => (
              <tr key={at}>
                {result.meta.map(({ name, type }) => (
                  <td key={name} class={/Int|Float|Decimal/.test(type) ? 'number' : ''}>
                    {cellText(row[name])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  const text = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : JSON.stringify(value);
  return visible(text.length > 400 ? `${text.slice(0, 400)}…` : text);
}

async function copyCurl(query: string): Promise<void> {
  const body = JSON.stringify({ query, format: 'JSON' }).replaceAll("'", String.raw`'\''`);
  await navigator.clipboard
    .writeText(`curl -s ${location.origin}/v1/sql -H 'content-type: application/json' -d '${body}'`)
    .catch(() => undefined);
}
