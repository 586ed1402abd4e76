// Follows a running attempt: each new turn is selected as it is recorded, until the reader selects another one or scrolls. The trajectory
// page polls for new turns.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ApiOutline } from '../data/shapes.ts';
import { useKeys } from '../shell/keys.ts';
import { change, parameter } from '../shell/place.ts';

interface FollowProps {
  readonly outline: ApiOutline;
  /** Index of the selected turn. */
  readonly at: number;
  readonly select: (at: number) => void;
}

const stop = (): void => change({ follow: '' });

/** A press in the list of turns or on the map stops following, even one that drags a scroll bar. */
function stopInList({ target }: Event): void {
  if (target instanceof Element && target.closest('.rows, .minimap') !== null) stop();
}

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

function Following({ outline, at, select }: FollowProps): null {
  const last = outline.turns - 1;
  const moves = useRef(0);
  useEffect(() => select(last), [last]);
  useEffect(() => {
    moves.current += 1;
    if (moves.current > 1 && at !== last) stop();
  }, [at]);
  useEffect(() => {
    for (const scroll of ['wheel', 'touchmove']) addEventListener(scroll, stop, { passive: true });
    addEventListener('pointerdown', stopInList);
    return () => {
      for (const scroll of ['wheel', 'touchmove']) removeEventListener(scroll, stop);
      removeEventListener('pointerdown', stopInList);
    };
  }, []);
  return null;
}
