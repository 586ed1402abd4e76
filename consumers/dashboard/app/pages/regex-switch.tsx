// Switches between text search and regular expressions; the choice is in the address.
import type { JSX } from 'preact';
import type { ApiTurnMatches } from '../data/shapes.ts';
import { change, parameter } from '../shell/place.ts';

const isRegex = (): boolean => parameter('as') === 'regex';

/** The parameter of the API. */
export const soughtAs = (): 'q' | 'regex' => (isRegex() ? 'regex' : 'q');

/** What to highlight in a turn: the text, or what the expression matched in this turn. */
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
