// Dead letters for the command line. All of it is read from the log: the store is not needed.
import { hostname } from 'node:os';
import {
  fits,
  groupsOf,
  obstacleTo,
  originalOf,
  homeOf,
  whyUnreadable,
  type Letter,
  type LetterFilter,
  type LetterGroup,
} from '../../../consumers/dead-letters/letters.ts';
import { eachWhole, lettersById, readLetters, type WholeLetter } from '../../../consumers/dead-letters/read-letters.ts';
import { retryLetters, type RetryChoice, type RetryLine } from '../../../consumers/dead-letters/retry.ts';
import type { DecodedEvent } from '../../../schemas/codec.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { withLog } from '../../app/open/with-log.ts';

export interface DeadLetterCommand {
  readonly config: Config;
  readonly logger: Logger;
}

export interface LetterList {
  /** The newest of those that fit, oldest first. */
  readonly letters: readonly Letter[];
  /** Counts of all that fit. */
  readonly groups: readonly LetterGroup[];
  readonly total: number;
}

/** The letters that fit, `limit` of them at most. */
export const listLetters = ({ config, logger }: DeadLetterCommand, filter: LetterFilter, limit: number): Promise<LetterList> =>
  withLog({ config, logger, purpose: 'dead-letters list' }, async ({ kafka, events }) => {
    const all = (await readLetters({ log: kafka.reader(), events })).filter((letter) => fits(letter, filter));
    return { letters: all.slice(-limit), groups: groupsOf(all), total: all.length };
  });

export interface ShownLetter extends WholeLetter {
  /** The original record as an event, when it can be read now. */
  readonly decoded: DecodedEvent | undefined;
  /** Why it cannot be read, or why a retry is not possible; empty when it would be retried. */
  readonly obstacle: string;
}

/** One letter with its bytes. Throws NOT_FOUND. */
export const showLetter = ({ config, logger }: DeadLetterCommand, id: string): Promise<ShownLetter> =>
  withLog({ config, logger, purpose: 'dead-letters show' }, async ({ kafka, events }) => {
    const deps = { log: kafka.reader(), events };
    const wanted = lettersById(await readLetters(deps), [id]);
    const shown: ShownLetter[] = [];
    await eachWhole(deps, wanted, async (whole) => {
      const home = homeOf(whole.letter);
      const read = whole.event === undefined || home === undefined ? undefined : await events.read(originalOf(whole.event, home));
      const decoded = read?.ok === true ? read.value : undefined;
      shown.push({ ...whole, decoded, obstacle: obstacleTo(whole.letter) ?? (read === undefined ? '' : whyUnreadable(read)) });
    });
    const [found] = shown;
    if (found === undefined) throw new Error(`showing dead letter ${id}: it left the log meanwhile`);
    return found;
  });

/** Puts original records back; safe to repeat and to run twice at once. */
export const retryDeadLetters = ({ config, logger }: DeadLetterCommand, choice: RetryChoice): Promise<readonly RetryLine[]> =>
  withLog({ config, logger, purpose: 'dead-letters retry' }, ({ kafka, events }) =>
    retryLetters(
      {
        ...{ log: kafka.reader(), events },
        openWriter: () => kafka.transactionalMixed(`${config.namespace}.dead-letters.retry`),
        producer: `dead-letters-${hostname()}-${process.pid}`,
        nowMs: Date.now,
      },
      choice,
    ),
  );
