// The selected turn in full: the model's text, the tool calls and their results, its tokens, or all of its fields.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import type { ApiPage, ApiTrajectoryReport, ApiTurn } from '../data/shapes.ts';
import { Empty, Waiting } from '../kit/states.tsx';
import { markMatches, usePartKey } from './pane-parts.ts';
import { TokenPane } from './token-pane.tsx';
import { rawText, turnsUrl, type PaneView } from './turn-columns.ts';
import { LongText, TurnText } from './turn-text.tsx';

interface PaneProps {
  readonly run: string;
  readonly id: string;
  readonly attempt: number;
  readonly turn: number;
  readonly view: Exclude<PaneView, 'transcript'>;
  readonly sought: string | undefined;
}

export function TurnPane({ run, id, attempt, turn, view, sought }: PaneProps): JSX.Element {
  const shown = useAnswer<ApiPage<ApiTurn>>(turnsUrl({ run, id, attempt, first: turn, last: turn }, view));
  const pane = useRef<HTMLElement>(null);
  useEffect(() => markMatches(pane.current, sought), [shown.value, sought, view]);
  usePartKey(() => pane.current, turn);
  return (
    <article ref={pane} class="pane" tabIndex={0} aria-label={`Turn ${turn}`}>
      <Waiting shown={shown} of={`turn ${turn}`}>
        {({ items: [found] }) =>
          found === undefined ? (
            <Empty>This turn is not stored.</Empty>
          ) : view === 'raw' ? (
            <LongText text={rawText(found)} />
          ) : view === 'tokens' ? (
            <Tokens run={run} id={id} attempt={attempt} turn={found} />
          ) : (
            <TurnText turn={found} />
          )
        }
      </Waiting>
    </article>
  );
}

interface TokensProps extends Pick<PaneProps, 'run' | 'id' | 'attempt'> {
  readonly turn: ApiTurn;
}

/** The advantage of the attempt comes from a response that the page has already requested. */
function Tokens({ run, id, attempt, turn }: TokensProps): JSX.Element {
  const { value } = useAnswer<ApiTrajectoryReport>(`/v1/trajectories/${encodeURIComponent(id)}?run=${encodeURIComponent(run)}`);
  const advantage = value?.training.find((each) => each.attempt === attempt)?.advantage ?? undefined;
  const weight = useMemo(() => (advantage === undefined ? undefined : { advantage, mask: turn.loss_mask ?? [] }), [advantage, turn]);
  return <TokenPane turn={turn} weight={weight} />;
}
