// Two attempts side by side, with their turns aligned by action. They are read and aligned in blocks, so that attempts of any length can be
// compared. A block ends after an equal pair of turns, so the rest can be aligned independently.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask, type ApiProblem } from '../data/request.ts';
import type { ApiPage, ApiTurn } from '../data/shapes.ts';
import { figure } from '../kit/format.ts';
import { Text } from '../kit/parts.tsx';
import { Failed, Loading } from '../kit/states.tsx';
import { attemptName, type MarkedAttempt } from '../shell/attempt-names.ts';
import { address } from '../shell/patterns.ts';
import { alignActs, cutAt, type AlignedPair } from './align.ts';
import { diffTurns, type DiffedPart } from './turn-diff.ts';

const BLOCK_TURNS = 200;
const fields = 'turn,text,tool,tool_status,tool_arguments,tool_result,reward';

export interface ComparedAttempt extends MarkedAttempt {
  readonly reward: number | null;
}

/** Turns of one attempt that have been read and are not part of a block yet. */
interface OpenTurns {
  readonly turns: readonly ApiTurn[];
  /** Undefined after the last page. */
  readonly next: number | undefined;
}

interface DiffBlock {
  readonly left: readonly ApiTurn[];
  readonly right: readonly ApiTurn[];
  readonly pairs: readonly AlignedPair[];
}

interface DiffState {
  readonly blocks: readonly DiffBlock[];
  readonly rest: readonly [OpenTurns, OpenTurns];
}

const first: OpenTurns = { turns: [], next: 0 };

type TurnsRead = { readonly ok: true; readonly value: OpenTurns } | { readonly ok: false; readonly problem: ApiProblem };

async function readOn(run: string, { trajectory_id, attempt }: MarkedAttempt, { turns, next }: OpenTurns): Promise<TurnsRead> {
  if (next === undefined || turns.length >= BLOCK_TURNS) return { ok: true, value: { turns, next } };
  const query = `run=${encodeURIComponent(run)}&attempt=${attempt}&min_turn=${next}&limit=${BLOCK_TURNS}&fields=${fields}`;
  const answer = await ask<ApiPage<ApiTurn>>(`/v1/trajectories/${encodeURIComponent(trajectory_id)}/turns?${query}`);
  if (!answer.ok) return answer;
  const { items, next_cursor: more } = answer.value;
  const last = items.at(-1);
  return { ok: true, value: { turns: [...turns, ...items], next: more === null || last === undefined ? undefined : last.turn + 1 } };
}

const actOf = ({ turn, tool, tool_arguments }: ApiTurn) => ({ turn, tool, arguments: tool_arguments });

/** Aligns the next block of the turns read so far; the last block if there are no more pages. */
function withBlock({ blocks }: DiffState, left: OpenTurns, right: OpenTurns): DiffState {
  const pairs = alignActs(left.turns.map(actOf), right.turns.map(actOf));
  const isLast = left.next === undefined && right.next === undefined;
  const shown = pairs.slice(0, isLast ? pairs.length : cutAt(pairs));
  const used = (side: 'left' | 'right'): number => Math.max(-1, ...shown.map((pair) => pair[side])) + 1;
  const rest = [
    { turns: left.turns.slice(used('left')), next: left.next },
    { turns: right.turns.slice(used('right')), next: right.next },
  ] as const;
  return { blocks: [...blocks, { left: left.turns, right: right.turns, pairs: shown }], rest };
}

const linkTo = (run: string, { trajectory_id, attempt }: MarkedAttempt, turn?: number): string =>
  address('/runs/:run/t/:trajectory', { run, trajectory: trajectory_id }, { attempt, turn });

interface AttemptDiffProps {
  readonly run: string;
  readonly left: ComparedAttempt;
  readonly right: ComparedAttempt;
}

/** Needs a `key` that identifies both attempts. */
export function AttemptDiff({ run, left, right }: AttemptDiffProps): JSX.Element {
  const [state, setState] = useState<DiffState>({ blocks: [], rest: [first, first] });
  const [problem, setProblem] = useState<ApiProblem>();
  const [loading, setLoading] = useState(true);
  const gone = useRef(false);
  const more = async (): Promise<void> => {
    setLoading(true);
    const [a, b] = await Promise.all([readOn(run, left, state.rest[0]), readOn(run, right, state.rest[1])]);
    if (gone.current) return;
    setLoading(false);
    setProblem(a.ok ? (b.ok ? undefined : b.problem) : a.problem);
    if (a.ok && b.ok) setState(withBlock(state, a.value, b.value));
  };
  useEffect(() => {
    void more();
    return () => {
      gone.current = true;
    };
  }, []);
  const isWhole = state.blocks.length > 0 && state.rest.every(({ turns, next }) => turns.length === 0 && next === undefined);
  const [a, b] = (['left', 'right'] as const).map((side) =>
    state.blocks.reduce((sum, { pairs }) => sum + pairs.filter((pair) => pair[side] >= 0).length, 0),
  );
  return (
    <section aria-label="Difference">
      {problem !== undefined && <Failed problem={problem} />}
      <div class="diff">
        {[left, right].map((one) => (
          <h2 key={attemptName(one)}>
            <a href={linkTo(run, one)}>
              <Text>{attemptName(one)}</Text>
            </a>{' '}
            <small>reward {figure(one.reward)}</small>
          </h2>
        ))}
        {state.blocks.map((block, at) => (
          <Block key={at} {...{ block, run, left, right }} />
        ))}
      </div>
      {loading && <Loading of={state.blocks.length === 0 ? 'both attempts' : 'more turns'} />}
      {!loading && state.blocks.length > 0 && (
        <p class="note" role="status">
          {figure(a)} turns beside {figure(b)}
          {isWhole ? ', all of both.' : ' so far. '}
          {!isWhole && (
            <button type="button" class="chip" onClick={() => void more()}>
              More turns
            </button>
          )}
        </p>
      )}
    </section>
  );
}

interface BlockProps extends Pick<AttemptDiffProps, 'run' | 'left' | 'right'> {
  readonly block: DiffBlock;
}

const Block = ({ block, run, left, right }: BlockProps): JSX.Element => (
  <>
    {block.pairs.map((pair) => (
      <PairOfTurns
        key={`${pair.left} ${pair.right}`}
        kind={pair.kind}
        left={block.left[pair.left]}
        right={block.right[pair.right]}
        linkTo={(side, turn) => linkTo(run, side === 'left' ? left : right, turn)}
      />
    ))}
  </>
);

interface PairProps {
  readonly kind: string;
  readonly left: ApiTurn | undefined;
  readonly right: ApiTurn | undefined;
  readonly linkTo: (side: 'left' | 'right', turn: number) => string;
}

function PairOfTurns({ kind, left, right, linkTo: to }: PairProps): JSX.Element {
  const [a = [], b = []] = useMemo(() => diffTurns(left, right), [left, right]);
  const side = (turn: ApiTurn | undefined, parts: readonly DiffedPart[], link: (turn: number) => string): JSX.Element =>
    turn === undefined ? (
      <div class="turn none">no such turn</div>
    ) : (
      <div class={`turn ${kind}`}>
        <b>
          Turn {turn.turn} {turn.tool !== '' && <Text>{turn.tool}</Text>}
        </b>{' '}
        {kind === 'same' && <small>same call</small>}
        {parts.map((part) => (
          <Part key={part.name} part={part} link={link(turn.turn)} />
        ))}
      </div>
    );
  return (
    <>
      {side(left, a, (turn) => to('left', turn))}
      {side(right, b, (turn) => to('right', turn))}
    </>
  );
}

const Part = ({ part: { name, words, leftOut }, link }: { readonly part: DiffedPart; readonly link: string }): JSX.Element => (
  <div>
    <small>{name}</small>
    <pre tabIndex={0}>
      {words.map(({ text, isOwn }, at) =>
        isOwn ? (
          <mark key={at}>
            <Text>{text}</Text>
          </mark>
        ) : (
          <Text key={at}>{text}</Text>
        ),
      )}
    </pre>
    {leftOut > 0 && (
      <p class="note">
        {figure(leftOut)} more characters are not compared. <a href={link}>Whole turn</a>
      </p>
    )}
  </div>
);
