// All turns as one text. Only the turns around the selected one are on the page; as the reader scrolls, the turn at the top becomes the
// selected one, and the next turns are loaded. A turn keeps its position on the screen while turns above it arrive or leave.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import type { ApiOutline, ApiPage, ApiTurn } from '../data/shapes.ts';
import { Waiting } from '../kit/states.tsx';
import { partsAround, rowAt } from './outline.ts';
import { markMatches, usePartKey } from './pane-parts.ts';
import { sectionOf, useReadingPlace } from './reading-place.ts';
import { turnsUrl } from './turn-columns.ts';
import { TurnText } from './turn-text.tsx';

interface TranscriptProps {
  readonly run: string;
  readonly id: string;
  readonly outline: ApiOutline;
  /** Index of the selected turn. */
  readonly at: number;
  readonly onSelect: (at: number) => void;
  /** The text to mark in a turn. */
  readonly soughtOf: (turn: number) => string | undefined;
}

export function Transcript({ run, id, outline, at, onSelect, soughtOf }: TranscriptProps): JSX.Element {
  const pane = useRef<HTMLElement>(null);
  const { turn: selected } = rowAt(outline, at);
  const parts = partsAround(at, outline.turns);
  const onScroll = useReadingPlace(pane, { outline, at, parts, onSelect });
  usePartKey(() => sectionOf(pane.current, selected), selected);
  return (
    <article ref={pane} class="pane transcript" tabIndex={0} aria-label="Transcript" onScroll={onScroll}>
      <div>
        {parts.map(({ from, to }) => (
          <TranscriptPart
            key={from}
            {...{ run, id, attempt: outline.attempt, selected, soughtOf }}
            first={rowAt(outline, from).turn}
            last={rowAt(outline, to - 1).turn}
          />
        ))}
      </div>
    </article>
  );
}

interface PartProps extends Pick<TranscriptProps, 'run' | 'id' | 'soughtOf'> {
  readonly attempt: number;
  readonly selected: number;
  /** Number of the first turn. */
  readonly first: number;
  /** Number of the last turn. */
  readonly last: number;
}

function TranscriptPart({ selected, soughtOf, ...turns }: PartProps): JSX.Element {
  const shown = useAnswer<ApiPage<ApiTurn>>(turnsUrl(turns, 'transcript'), { keep: true });
  return (
    <Waiting shown={shown} of={`turns ${turns.first} to ${turns.last}`}>
      {({ items }) =>
        items.map((turn) => <TranscriptTurn key={turn.turn} turn={turn} isSelected={turn.turn === selected} sought={soughtOf(turn.turn)} />)
      }
    </Waiting>
  );
}

interface TranscriptTurnProps {
  readonly turn: ApiTurn;
  readonly isSelected: boolean;
  readonly sought: string | undefined;
}

function TranscriptTurn({ turn, isSelected, sought }: TranscriptTurnProps): JSX.Element {
  const section = useRef<HTMLElement>(null);
  const text = useMemo(() => <TurnText turn={turn} isBrief />, [turn]);
  useEffect(() => markMatches(section.current, sought), [turn, sought]);
  return (
    <section ref={section} data-turn={turn.turn} aria-current={isSelected ? 'true' : undefined}>
      {text}
    </section>
  );
}
