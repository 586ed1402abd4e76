// Dead letters for the command line. They are read from the log alone, without the store.
import { hostname } from 'node:os';
import {
  fits,
  groupsOf,
  obstacleTo,
  originalOf,
  homeOf,
  whyUnreadable,
  type DeadLetter,
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
  /** The newest letters that match, oldest first. */
  readonly letters: readonly DeadLetter[];
  /** Counts of all letters that match. */
  readonly groups: readonly LetterGroup[];
  readonly total: number;
}

/** Lists at most `limit` letters that match the filter. */
export const listLetters = ({ config, logger }: DeadLetterCommand, filter: LetterFilter, limit: number): Promise<LetterList> =>
  withLog({ config, logger, purpose: 'dead-letters list' }, async ({ kafka, events }) => {
    const all = (await readLetters({ log: kafka.reader(), events })).filter((letter) => fits(letter, filter));
    return { letters: all.slice(-limit), groups: groupsOf(all), total: all.length };
  });

export interface ShownLetter extends WholeLetter {
  /** The original record as an event; undefined if it still cannot be decoded. */
  readonly decoded: DecodedEvent | undefined;
  /** Why it cannot be decoded or retried; empty when a retry is possible. */
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
    if (found === undefined) throw new Error(`showing dead letter ${id}: it is no longer in the log`);
    return found;
  });

/** Writes original records back to their topics. Safe to repeat and to run concurrently. */
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
