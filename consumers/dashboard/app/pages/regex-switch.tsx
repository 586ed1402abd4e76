// Whether what one searches for is a text or a regular expression; the address has it.
import type { JSX } from 'preact';
import type { ApiTurnMatches } from '../data/shapes.ts';
import { change, parameter } from '../shell/place.ts';

const isRegex = (): boolean => parameter('as') === 'regex';

/** Parameter of the API that takes it. */
export const soughtAs = (): 'q' | 'regex' => (isRegex() ? 'regex' : 'q');

/** What to mark in a turn: the text itself, or what of this turn fits the expression. */
export const soughtIn = (found: ApiTurnMatches | undefined, turn: number): string | undefined =>
  isRegex() ? found?.items.find((one) => one.turn === turn)?.match : parameter('find');

export const RegexSwitch = (): JSX.Element => (
  <button
    type="button"
    class="chip"
    aria-pressed={isRegex()}
    title="Search by a regular expression (RE2; (?i) ignores case)"
    aria-label="Regular expression"
    onClick={() => change({ as: isRegex() ? '' : 'regex' })}
  >
    .*
  </button>
);
