// Puts the original records of dead letters back on their topics.
//
// Guarantees: a record and the event that its letter was retried are one transaction: both are visible, or neither. The retry events are
// read after this process became the only retry writer, so a letter is put back once, no matter how often and by how many processes it is
// requested. Key, value and headers are those of the original, plus one header with the letter's id. Crash: what was committed is done, the
// rest is not; running the same command again continues. No loop: a record that fails again gets its own letter that names this one, and
// `--all` does not include it.
import { LETTER_HEADER } from '../../schemas/framing.ts';
import type { EventReader, LogReader, LogRecord, OutgoingEvent } from '../../streams/core/ports.ts';
import type { EventTopic } from '../../schemas/generated/events.ts';
import { fits, homeOf, obstacleTo, originalOf, whyUnreadable, type DeadLetter, type LetterFilter } from './letters.ts';
import { eachWhole, lettersById, readLetters, type WholeLetter } from './read-letters.ts';

/** A record with exactly these bytes. */
interface ReturnedRecord {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, Buffer>>;
}

/** The only retry writer: opening one fences the previous ones. */
export interface RetryWriter {
  /** All of it becomes visible together or not at all; throws PRODUCER_FENCED when another retry took over. */
  commit(work: { readonly records: readonly ReturnedRecord[]; readonly events: readonly OutgoingEvent[] }): Promise<unknown>;
  close(): Promise<void>;
}

export interface RetryDeps {
  readonly log: LogReader;
  readonly events: EventReader;
  readonly openWriter: () => Promise<RetryWriter>;
  readonly producer: string;
  readonly nowMs: () => number;
}

export interface RetryChoice {
  /** These letters, or all that match the filter. */
  readonly letters: readonly string[] | LetterFilter;
  /** Also retries letters that will probably fail again. */
  readonly force: boolean;
  /** Only reports what would be done. */
  readonly dryRun: boolean;
}

export interface RetryLine {
  readonly id: string;
  readonly verdict: 'retried' | 'would_retry' | 'retried_before' | 'left';
  /** Why it was left. */
  readonly detail: string;
}

const BATCH_RECORDS = 200;
const BATCH_BYTES = 800_000;

/** One line for each requested letter, in log order. */
export async function retryLetters(deps: RetryDeps, choice: RetryChoice): Promise<readonly RetryLine[]> {
  if (choice.dryRun) return new Retry(deps, choice, undefined).run();
  const writer = await deps.openWriter();
  try {
    return await new Retry(deps, choice, writer).run();
  } finally {
    await writer.close();
  }
}

const isIds = (letters: RetryChoice['letters']): letters is readonly string[] => Array.isArray(letters);

class Retry {
  readonly #deps: RetryDeps;
  readonly #choice: RetryChoice;
  readonly #writer: RetryWriter | undefined;
  readonly #lines = new Map<string, RetryLine>();
  readonly #partitions = new Map<EventTopic, number>();
  #records: ReturnedRecord[] = [];
  #notes: OutgoingEvent[] = [];
  #bytes = 0;

  constructor(deps: RetryDeps, choice: RetryChoice, writer: RetryWriter | undefined) {
    this.#deps = deps;
    this.#choice = choice;
    this.#writer = writer;
  }

  async run(): Promise<readonly RetryLine[]> {
    const { letters } = this.#choice;
    const all = await readLetters(this.#deps);
    const asked = isIds(letters) ? lettersById(all, letters) : all.filter((letter) => fits(letter, letters));
    const possible = asked.filter((letter) => this.#mayGo(letter));
    await eachWhole(this.#deps, possible, (whole) => this.#take(whole));
    await this.#flush();
    return asked.flatMap(({ id }) => this.#lines.get(id) ?? []);
  }

  #mayGo(letter: DeadLetter): boolean {
    if (letter.retriedAtMs !== undefined) return this.#leave(letter, '', 'retried_before');
    const obstacle = obstacleTo(letter);
    if (obstacle !== undefined) return this.#leave(letter, obstacle);
    const again = letter.retryOf !== '' && !isIds(this.#choice.letters) && !this.#choice.force;
    return again ? this.#leave(letter, `it is the record of ${letter.retryOf}, which failed again; name it or use --force`) : true;
  }

  #leave({ id }: DeadLetter, detail: string, verdict: RetryLine['verdict'] = 'left'): false {
    this.#lines.set(id, { id, verdict, detail });
    return false;
  }

  async #take({ letter, event }: WholeLetter): Promise<void> {
    const topic = homeOf(letter);
    if (event === undefined || topic === undefined) {
      this.#leave(letter, 'the letter cannot be read any more');
      return;
    }
    const original = originalOf(event, topic);
    const obstacle = await this.#obstacleNow(original);
    if (obstacle === '') await this.#put(letter, original);
    else this.#leave(letter, obstacle);
  }

  async #put(letter: DeadLetter, original: LogRecord): Promise<void> {
    const { id } = letter;
    this.#lines.set(id, { id, verdict: this.#writer === undefined ? 'would_retry' : 'retried', detail: '' });
    const bytes = (original.value?.length ?? 0) + (original.key?.length ?? 0);
    if (this.#records.length >= BATCH_RECORDS || this.#bytes + bytes > BATCH_BYTES) await this.#flush();
    this.#records.push({ ...original, headers: { ...original.headers, [LETTER_HEADER]: Buffer.from(id) } });
    this.#notes.push(this.#noteOf(letter));
    this.#bytes += bytes;
  }

  /** Empty when the record can be put back. */
  async #obstacleNow(original: LogRecord): Promise<string> {
    const { topic, partition } = original;
    if ((await this.#partitionsOf(topic)) <= partition) return `${topic} has no partition ${partition}`;
    const unreadable = this.#choice.force ? '' : whyUnreadable(await this.#deps.events.read(original));
    return unreadable === '' ? '' : `it still cannot be read (${unreadable}); --force puts it back all the same`;
  }

  #noteOf({ id, run, original }: DeadLetter): OutgoingEvent {
    return {
      type: 'DeadLetterRetried',
      key: id.slice(0, 1_000),
      event: {
        event_id: `${id}/retried`,
        run_id: run,
        occurred_at: Math.round(this.#deps.nowMs() * 1_000),
        producer: this.#deps.producer,
        letter_id: id,
        original_topic: original.topic,
        original_partition: original.partition,
        original_offset: original.offset,
      },
    };
  }

  async #partitionsOf(topic: EventTopic): Promise<number> {
    const known = this.#partitions.get(topic) ?? (await this.#deps.log.bounds(topic)).length;
    this.#partitions.set(topic, known);
    return known;
  }

  async #flush(): Promise<void> {
    const work = { records: this.#records, events: this.#notes };
    this.#records = [];
    this.#notes = [];
    this.#bytes = 0;
    if (work.records.length > 0) await this.#writer?.commit(work);
  }
}
