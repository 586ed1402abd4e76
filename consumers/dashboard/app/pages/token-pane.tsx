// The tokens of the selected turn, colored in its text with the CSS Custom Highlight API, so that no token needs a DOM node.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { figure, NOT_RECORDED } from '../kit/format.ts';
import { NotRecorded } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { visible } from '../kit/visible.ts';
import { change, parameter } from '../shell/place.ts';
import { coloringsOf, placesOf, shadesOf, shownTokens, tokensOf, type ShownToken, type TokenWeight, type TurnTokens } from './tokens.ts';

const SHADES = [0, 1, 2, 3, 4, 5, 6, 7] as const;
const MOST_ROWS = 300;

const notes = {
  likelihood: 'The darker a token, the less likely it was: each shade is one nat.',
  version: 'Each color is a version of the policy.',
  advantage: 'Green: training made it likelier; orange: less likely; the darker, the more. Pale: left out of the loss.',
  boundary: 'Every other token is colored.',
} as const;

interface TokenPaneProps {
  readonly turn: TurnTokens;
  /** Undefined if no step trained on the turn. */
  readonly weight: TokenWeight | undefined;
}

export function TokenPane({ turn, weight }: TokenPaneProps): JSX.Element {
  const rows = useMemo(() => tokensOf(turn), [turn]);
  if (rows.length === 0) {
    return <NotRecorded>The engine reported no tokens of this turn: no ids, positions, or log probabilities.</NotRecorded>;
  }
  const hasPlaces = (turn.token_ends ?? []).length > 0;
  return (
    <>
      {hasPlaces ? (
        <Colored turn={turn} rows={rows} weight={weight} />
      ) : (
        <NotRecorded>The engine reported no positions of the tokens in the text. The tokens are listed below.</NotRecorded>
      )}
      {rows.every(({ logprob }) => logprob === undefined) && <NotRecorded>The log probabilities of the tokens.</NotRecorded>}
      <Table
        label="Tokens"
        rows={rows.slice(0, MOST_ROWS).map((row, at) => ({ ...row, at }))}
        columns={columns}
        keyOf={({ at }) => String(at)}
      />
      {rows.length > MOST_ROWS && (
        <p class="note">
          The first {figure(MOST_ROWS)} of {figure(rows.length)} tokens; the raw view has all of them.
        </p>
      )}
    </>
  );
}

const columns: readonly TableColumn<ShownToken & { readonly at: number }>[] = [
  { name: 'Token', number: true, of: ({ at }) => figure(at) },
  { name: 'Text', of: ({ text }) => (text === undefined ? NOT_RECORDED : <code>{visible(JSON.stringify(text))}</code>) },
  { name: 'Id', number: true, of: ({ id }) => (id === undefined ? NOT_RECORDED : String(id)) },
  { name: 'Log probability', number: true, of: ({ logprob }) => figure(logprob) },
  { name: 'Version', number: true, of: ({ version }) => (version === undefined ? NOT_RECORDED : version < 0 ? 'v?' : `v${version}`) },
];

function Colored({ turn, rows, weight }: TokenPaneProps & { readonly rows: readonly ShownToken[] }): JSX.Element {
  const colorings = coloringsOf(rows, weight);
  const by = colorings.find((one) => one === parameter('by')) ?? colorings[0] ?? 'boundary';
  const box = useRef<HTMLPreElement>(null);
  const [pointed, setPointed] = useState(-1);
  const shown = useMemo(() => {
    const last = placesOf(turn.text, (turn.token_ends ?? []).slice(-1))[0] ?? 0;
    return shownTokens(rows, turn.text.slice(last));
  }, [turn, rows]);
  useEffect(() => shade(box.current?.firstChild ?? null, shown.ends, shadesOf(rows, by, weight)), [shown, by, weight]);
  const row = rows[pointed];
  return (
    <>
      <div class="chips" role="group" aria-label="Colored by">
        {colorings.map((one) => (
          <button key={one} type="button" class="chip" aria-pressed={one === by} onClick={() => change({ by: one })}>
            {one}
          </button>
        ))}
      </div>
      <p class="note" role="status">
        {row === undefined
          ? `${figure(rows.length)} tokens. ${notes[by]}${by === 'advantage' ? ` The advantage of the trajectory is ${figure(weight?.advantage)}.` : ''}`
          : `token ${pointed}, id ${row.id ?? NOT_RECORDED}, log probability ${figure(row.logprob)}, ${row.version === undefined ? '' : `v${row.version}`}`}
      </p>
      <pre
        ref={box}
        class={`tokens ${by}`}
        onMouseMove={(event) => {
          const at = document.caretPositionFromPoint(event.clientX, event.clientY)?.offset;
          setPointed(at === undefined ? -1 : shown.ends.findIndex((end) => end > at));
        }}
        onMouseLeave={() => setPointed(-1)}
      >
        {shown.text}
      </pre>
    </>
  );
}

/** Colors ranges of one text. The returned function removes the colors. */
function shade(text: Node | null, ends: readonly number[], shades: readonly number[]): () => void {
  const clear = (): void => SHADES.forEach((shade) => CSS.highlights.delete(`token-${shade}`));
  if (!('highlights' in CSS) || text === null) return () => undefined;
  for (const wanted of SHADES) {
    const ranges = shades.flatMap((of, at) => {
      if (of !== wanted) return [];
      const range = new StaticRange({
        startContainer: text,
        startOffset: ends[at - 1] ?? 0,
        endContainer: text,
        endOffset: ends[at] ?? 0,
      });
      return [range];
    });
    if (ranges.length > 0) CSS.highlights.set(`token-${wanted}`, new Highlight(...ranges));
  }
  return clear;
}
