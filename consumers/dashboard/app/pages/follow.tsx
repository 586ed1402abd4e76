// Follows a running attempt: each new turn is selected as it is recorded, until the reader selects another one.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLive } from '../data/live.ts';
import type { ApiOutline } from '../data/shapes.ts';
import { useKeys } from '../shell/keys.ts';
import { change, parameter } from '../shell/place.ts';

interface FollowProps {
  readonly run: string;
  readonly id: string;
  readonly outline: ApiOutline;
  /** Index of the selected turn. */
  readonly at: number;
  readonly select: (at: number) => void;
}

const stop = (): void => change({ follow: '' });

export function Follow(props: FollowProps): JSX.Element {
  const isOn = parameter('follow') === '1';
  const turn = (): void => change({ follow: isOn ? '' : 1 });
  useKeys('Follow', [{ keys: ['f'], does: 'Follow the newest turn', run: turn }]);
  return (
    <>
      <button
        type="button"
        class={`chip${isOn ? ' live' : ''}`}
        aria-pressed={isOn}
        onClick={turn}
        title="Select each new turn as it comes"
      >
        follow <kbd>f</kbd>
      </button>
      {isOn && <Following {...props} />}
    </>
  );
}

function Following({ run, id, outline, at, select }: FollowProps): null {
  const last = outline.turns - 1;
  const moves = useRef(0);
  useLive({
    ...{ run, types: ['TurnRecorded'], refreshes: [`/v1/trajectories/${encodeURIComponent(id)}/outline?`] },
    concerns: ({ event }) => event['trajectory_id'] === id,
  });
  useEffect(() => select(last), [last]);
  useEffect(() => {
    moves.current += 1;
    if (moves.current > 1 && at !== last) stop();
  }, [at]);
  useEffect(() => {
    addEventListener('wheel', stop, { passive: true });
    return () => removeEventListener('wheel', stop);
  }, []);
  return null;
}
