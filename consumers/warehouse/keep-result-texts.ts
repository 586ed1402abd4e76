// Keeps `result_texts` filled with each distinct tool result once. It reads the table `turns` in slices, as the audit does. Each round
// reads only up to the ends of the partitions that the previous round saw, because rows below them are no longer being inserted. The texts
// of a slice are inserted before its marks; repeats after a crash are deduplicated by the tables.
import type { Row } from '../../streams/core/ports.ts';
import { behindMarks, type TableMark } from '../common/behind-marks.ts';
import { inSlice, sliceParams } from './audit-compare.ts';
import { cutSlice, offsetsOf, type OffsetWindow } from './audit-slices.ts';
import { keeperSettings as settings, NOTHING_KEPT, type KeeperDeps, type Round } from './keep-step-figures.ts';

const TOPIC = 'rollouts';
const MOST_CHARS = 8_000_000;
const [FIRST_SIZE, SMALLEST, LARGEST] = [1_000, 20, 20_000];

export class ResultTextKeeper {
  readonly #store: KeeperDeps['store'];
  /** End of each partition in the previous round. */
  #ends: ReadonlyMap<number, number> = new Map();
  #size: number;

  /** `size`: number of offsets in the first round. */
  constructor({ store }: Pick<KeeperDeps, 'store'>, size = FIRST_SIZE) {
    this.#store = store;
    this.#size = size;
  }

  /** Adds the tool results of the next slice of turns. */
  async round(): Promise<Round> {
    const windows = await this.#windows();
    const { slice } = cutSlice(windows, this.#size);
    if (slice.length === 0) return NOTHING_KEPT;
    const chars = await this.#charsOf(slice);
    if (chars > MOST_CHARS && this.#size > SMALLEST) {
      this.#size = Math.max(SMALLEST, Math.floor(this.#size / 4));
      return this.round();
    }
    if (chars < MOST_CHARS / 4) this.#size = Math.min(LARGEST, this.#size * 2);
    await this.#add(slice);
    return { kept: offsetsOf(slice), isBehind: offsetsOf(slice) < offsetsOf(windows) };
  }

  /** The offsets between the marks and the ends of the previous round. */
  async #windows(): Promise<readonly OffsetWindow[]> {
    const marks = await this.#store.query<TableMark>('select partition, max(offset) as offset from result_text_marks group by partition', {
      settings,
    });
    const unmarked = behindMarks(marks);
    const found = await this.#store.query<OffsetWindow>(
      `select _partition as partition, min(_offset) as first, max(_offset) + 1 as end from turns
       where _topic = {topic:String} and ${unmarked.sql} group by partition`,
      { params: { topic: TOPIC, ...unmarked.params }, settings },
    );
    const ends = this.#ends;
    this.#ends = new Map(found.map(({ partition, end }) => [partition, end]));
    const marked = new Map(marks.map(({ partition, offset }) => [partition, offset]));
    return found
      .map(({ partition, first }) => ({
        partition,
        first: Math.max(first, marked.get(partition) ?? 0),
        end: ends.get(partition) ?? 0,
      }))
      .filter(({ first, end }) => first < end);
  }

  async #charsOf(slice: readonly OffsetWindow[]): Promise<number> {
    const [found] = await this.#store.query<{ chars: number }>(
      `select sum(toInt64(tool_result_chars)) as chars from turns where ${inSlice} and ${UNSEEN}`,
      { params: sliceParams(TOPIC, slice), settings },
    );
    return found?.chars ?? 0;
  }

  async #add(slice: readonly OffsetWindow[]): Promise<void> {
    const texts = await this.#store.query(
      `select tool_result_sha256 as sha256, tool_result as text from turns where ${inSlice} and ${UNSEEN} limit 1 by sha256`,
      { params: sliceParams(TOPIC, slice), settings },
    );
    const token = slice.map(({ partition, first, end }) => `${partition}:${first}-${end}`).join(',');
    if (texts.length > 0) await this.#store.insert('result_texts', texts, `texts-${token}`);
    const marks = slice.map(({ partition, end }): Row => ({ partition, offset: end }));
    await this.#store.insert('result_text_marks', marks, `marks-${token}`);
  }
}

const UNSEEN = `tool_result != '' and tool_result_sha256 != '' and tool_result_sha256 not in (select sha256 from result_texts)`;
