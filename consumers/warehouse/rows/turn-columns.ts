// The columns of `turns` out of the bytes of turns, texts left where they lie: what `turnRow` makes of their events, cell
// by cell, at a fraction of its price. Most of what a sink stores is turns.
import { Cursor } from '../../../schemas/cursor.ts';
import { FRAME_BYTES } from '../../../schemas/framing.ts';
import type { DecodedEvent, PlainBytes } from '../../../schemas/codec.ts';
import type { EventByType, PolicySpan } from '../../../schemas/generated/events.ts';
import type { Column, ListColumn, LogRecord, TextColumn } from '../../../streams/core/ports.ts';
import { originOf } from './cells.ts';
import { versionsOf } from './rollouts.rows.ts';

export interface PlainTurn {
  readonly record: LogRecord;
  readonly decoded: Extract<DecodedEvent, { type: 'TurnRecorded' }>;
  readonly plain: PlainBytes;
}

const NOTHING = Buffer.alloc(0);

type Field = keyof EventByType['TurnRecorded'];

/** Where the fields of all turns lie. */
class Turns {
  readonly values: readonly Buffer[];
  readonly #starts: Uint32Array;
  readonly #fields: readonly string[];

  constructor(turns: readonly PlainTurn[]) {
    this.values = turns.map(({ plain }) => plain.value);
    this.#fields = turns[0]?.plain.layout.fields ?? [];
    this.#starts = new Uint32Array(turns.length * this.#fields.length);
    const starts = new Uint32Array(this.#fields.length);
    turns.forEach(({ plain }, row) => {
      plain.layout.locate(plain.value, FRAME_BYTES, starts);
      this.#starts.set(starts, row * starts.length);
    });
  }

  /** Calls with a cursor, always the same, at the field of each turn, one after the other. */
  each(field: Field, take: (cursor: Cursor, row: number) => void): void {
    const cursor = new Cursor(NOTHING);
    const width = this.#fields.length;
    let place = this.#fields.indexOf(field);
    for (let row = 0; row < this.values.length; row += 1) {
      cursor.bytes = this.values[row] as Buffer;
      cursor.at = this.#starts[place] as number;
      take(cursor, row);
      place += width;
    }
  }

  text(field: Field): TextColumn {
    const { values } = this;
    const starts = new Uint32Array(values.length);
    const ends = new Uint32Array(values.length);
    this.each(field, (cursor, row) => {
      const length = cursor.number();
      starts[row] = cursor.at;
      ends[row] = cursor.at + length;
    });
    return { kind: 'texts', sources: values, starts, ends };
  }

  whole(field: Field): Float64Array {
    const column = new Float64Array(this.values.length);
    this.each(field, (cursor, row) => {
      column[row] = cursor.number();
    });
    return column;
  }

  double(field: Field): Float64Array {
    const column = new Float64Array(this.values.length);
    this.each(field, ({ bytes, at }, row) => {
      column[row] = bytes.readDoubleLE(at);
    });
    return column;
  }

  flag(field: Field): readonly boolean[] {
    const column: boolean[] = [];
    this.each(field, ({ bytes, at }) => {
      column.push(bytes[at] === 1);
    });
    return column;
  }

  /** Calls for each item of the lists. Answers where the list of each turn ends. */
  items(field: Field, take: (cursor: Cursor) => void): readonly number[] {
    const ends: number[] = [];
    let end = 0;
    this.each(field, (cursor) => {
      end += eachItem(cursor, take);
      ends.push(end);
    });
    return ends;
  }

  numbers(field: Field, read: (cursor: Cursor) => number): ListColumn {
    const items: number[] = [];
    const ends = this.items(field, (cursor) => items.push(read(cursor)));
    return { kind: 'lists', ends, items };
  }
}

/** Answers how many there were. */
function eachItem(cursor: Cursor, take: (cursor: Cursor) => void): number {
  let items = 0;
  for (let count = cursor.number(); count > 0; count = cursor.number()) {
    for (let left = count; left > 0; left -= 1) take(cursor);
    items += count;
  }
  return items;
}

/** Texts that are found one after the other. */
class Texts {
  readonly kind = 'texts';
  readonly sources: Buffer[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];

  take(cursor: Cursor): void {
    const length = cursor.number();
    this.sources.push(cursor.bytes);
    this.starts.push(cursor.at);
    cursor.at += length;
    this.ends.push(cursor.at);
  }
}

type Columns = Readonly<Record<string, Column>>;

const zeros = (rows: number): Float64Array => new Float64Array(rows);

function spanColumns(turns: Turns): Columns {
  const rows = turns.values.length;
  const [oldest, newest, unknown] = [zeros(rows), zeros(rows), zeros(rows)];
  const versions: number[] = [];
  const tokens: number[] = [];
  const ends: number[] = [];
  turns.each('policy_spans', (cursor, row) => {
    const spans: PolicySpan[] = [];
    eachItem(cursor, () => spans.push({ version: cursor.number(), tokens: cursor.number() }));
    for (const span of spans) {
      versions.push(span.version);
      tokens.push(span.tokens);
    }
    ends.push(versions.length);
    const found = versionsOf(spans);
    oldest[row] = found.min;
    newest[row] = found.max;
    unknown[row] = found.unknownTokens;
  });
  return {
    policy_version_min: oldest,
    policy_version_max: newest,
    policy_span_versions: { kind: 'lists', ends, items: versions },
    policy_span_tokens: { kind: 'lists', ends, items: tokens },
    unknown_tokens: unknown,
  };
}

function itemColumns(turns: Turns): Columns {
  const [urls, titles] = [new Texts(), new Texts()];
  const ends = turns.items('items', (cursor) => {
    urls.take(cursor);
    titles.take(cursor);
  });
  return { tool_item_urls: { kind: 'lists', ends, items: urls }, tool_item_titles: { kind: 'lists', ends, items: titles } };
}

function decisionColumns(turns: Turns): Columns {
  const rows = turns.values.length;
  const [candidates, width, chosen] = [zeros(rows), zeros(rows), zeros(rows).fill(-1)];
  const [logprob, entropy] = [zeros(rows), zeros(rows)];
  turns.each('decision', (cursor, row) => {
    if (cursor.number() === 0) return;
    cursor.skip();
    candidates[row] = cursor.number();
    width[row] = cursor.number();
    chosen[row] = cursor.number();
    logprob[row] = cursor.float();
    entropy[row] = cursor.float();
  });
  return {
    decision_candidates: candidates,
    decision_width: width,
    decision_chosen: chosen,
    decision_logprob: logprob,
    decision_entropy: entropy,
  };
}

/** The cells of one timing that is there. */
type Timings = readonly (readonly [string, Float64Array, (cursor: Cursor) => number])[];

const readWhole = (cursor: Cursor): number => cursor.number();
const readFloat = (cursor: Cursor): number => cursor.float();

/** `more` reads what follows them in the record. */
function timingColumns(turns: Turns, field: 'generation_timing' | 'tool_timing', more: readonly (readonly [string, number])[]): Timings {
  const rows = turns.values.length;
  const prefix = field === 'tool_timing' ? 'tool' : 'generation';
  const columns: Timings = [
    [`${prefix}_queue_ms`, zeros(rows), readFloat],
    [`${prefix}_retries`, zeros(rows), readWhole],
    [`${prefix}_retry_ms`, zeros(rows), readFloat],
    ...[[`${prefix}_server_ms`, -1] as const, ...more].map(([name, missing]) => [name, zeros(rows).fill(missing), readFloat] as const),
  ];
  return columns;
}

function generationColumns(turns: Turns): Columns {
  const columns = timingColumns(turns, 'generation_timing', [['first_token_ms', -1]]);
  const rows = turns.values.length;
  const [starts, ends] = [new Uint32Array(rows), new Uint32Array(rows)];
  turns.each('generation_timing', (cursor, row) => {
    if (cursor.number() === 0) return;
    for (const [, cells, read] of columns) cells[row] = read(cursor);
    const length = cursor.number();
    starts[row] = cursor.at;
    ends[row] = cursor.at + length;
  });
  return { ...named(columns), stop_text: { kind: 'texts', sources: turns.values, starts, ends } };
}

function toolColumns(turns: Turns): Columns {
  const columns = timingColumns(turns, 'tool_timing', []);
  turns.each('tool_timing', (cursor, row) => {
    if (cursor.number() === 0) return;
    for (const [, cells, read] of columns) cells[row] = read(cursor);
  });
  return named(columns);
}

const named = (timings: Timings): Columns => Object.fromEntries(timings.map(([name, cells]) => [name, cells]));

function originColumns(turns: readonly PlainTurn[]): Columns {
  const origins = turns.map(({ record }) => originOf(record));
  return {
    _topic: origins.map(({ _topic }) => _topic),
    _partition: origins.map(({ _partition }) => _partition),
    _offset: origins.map(({ _offset }) => _offset),
    _timestamp: origins.map(({ _timestamp }) => _timestamp),
  };
}

/** Cells of the columns of `turns`, in the order of the turns. */
export function turnColumns(plain: readonly PlainTurn[]): ReadonlyMap<string, Column> {
  const turns = new Turns(plain);
  const columns: Columns = {
    run_id: turns.text('run_id'),
    group_id: turns.text('group_id'),
    trajectory_id: turns.text('trajectory_id'),
    attempt: turns.whole('attempt'),
    turn: turns.whole('turn'),
    sequence: turns.whole('sequence'),
    purpose: turns.text('purpose'),
    worker_id: turns.text('worker_id'),
    question_id: turns.text('question_id'),
    ...spanColumns(turns),
    prompt_tokens: turns.whole('prompt_tokens'),
    completion_tokens: turns.whole('completion_tokens'),
    generation_ms: turns.double('generation_ms'),
    finish_reason: turns.text('finish_reason'),
    text: turns.text('text'),
    token_ids: turns.numbers('token_ids', (cursor) => cursor.number()),
    logprobs: turns.numbers('logprobs', (cursor) => cursor.float()),
    tool: turns.text('tool'),
    call_id: turns.text('call_id'),
    tool_status: turns.text('status'),
    tool_error_type: turns.text('error_type'),
    tool_started_at: turns.whole('started_at'),
    tool_ms: turns.double('latency_ms'),
    tool_arguments: turns.text('arguments'),
    tool_result: turns.text('result'),
    tool_result_chars: turns.whole('result_chars'),
    tool_result_sha256: turns.text('result_sha256'),
    ...itemColumns(turns),
    truncated: turns.flag('truncated'),
    cache_hit: turns.flag('cache_hit'),
    reward: turns.double('reward'),
    ...decisionColumns(turns),
    ...generationColumns(turns),
    ...toolColumns(turns),
    event_id: turns.text('event_id'),
    occurred_at: turns.whole('occurred_at'),
    producer: turns.text('producer'),
    ...originColumns(plain),
  };
  return new Map(Object.entries(columns));
}
