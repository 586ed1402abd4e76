// Reads a benchmark file as questions: JSON lines, one JSON array, CSV or TSV. Ids depend on the question and its answers, so a file gives
// the same ids under any name, and a different answer makes a different question.
import { PlatformError } from '../../streams/core/errors.ts';
import { MAX_LINE_BYTES, readLines } from '../questions/read-lines.ts';
import { contentIdOf } from './content-id.ts';
import { readRow, type DatasetRow } from './dataset-row.ts';
import { rowsOfDelimited } from './delimited.ts';
import type { EvaluationQuestion } from './evaluation-events.ts';

/** An array or table is read as a whole; larger files must be JSON lines. */
const MAX_WHOLE_BYTES = 512_000_000;
const SHOWN_PROBLEMS = 20;

export interface DatasetFile {
  /** For messages. */
  readonly file: string;
  readonly open: () => AsyncIterable<Uint8Array>;
  /** JSON by default; the first byte distinguishes JSON lines from an array. */
  readonly format?: DatasetFormat;
  /** Skips bad rows instead of rejecting the file. */
  readonly skipBadRows?: boolean;
  /** Whether to keep rows with an attachment, which the agent does not see; by default they are left out. */
  readonly withAttachments?: boolean;
}

export type DatasetFormat = 'json' | 'lines' | 'csv' | 'tsv';

export interface Dataset {
  /** Each question once, in file order. */
  readonly questions: readonly EvaluationQuestion[];
  /** Number of bad rows that were skipped. */
  readonly bad: number;
  /** Rows with an attachment; they are among the questions only if requested. */
  readonly attached: number;
}

/** Throws QUESTIONS_INVALID when a row is bad (unless skipped) or no row is good. */
export async function readDataset(options: DatasetFile): Promise<Dataset> {
  const { withAttachments = false } = options;
  const questions = new Map<string, EvaluationQuestion>();
  const problems: string[] = [];
  let [bad, attached] = [0, 0];
  for await (const { at, row } of rowsOf(options)) {
    const read = row instanceof Error ? ({ ok: false, problem: row.message } as const) : readRow(row);
    if (!read.ok) {
      bad += 1;
      if (problems.length < SHOWN_PROBLEMS) problems.push(`${at}: ${read.problem}`);
      continue;
    }
    if (read.value.attachment !== '') attached += 1;
    if (read.value.attachment !== '' && !withAttachments) continue;
    const question = questionOf(read.value);
    if (!questions.has(question.question_id)) questions.set(question.question_id, question);
  }
  assertUsable(options, { good: questions.size, bad, attached, problems });
  return { questions: [...questions.values()], bad, attached };
}

const questionOf = ({ question, answers, level, taskId, attachment }: DatasetRow): EvaluationQuestion => ({
  question_id: `q-${contentIdOf({ question, answers, attachment })}`,
  ...{ question, answers, aug_answers: [], level, task_id: taskId, attachment },
});

async function* rowsOf({ file, open, format = 'json' }: DatasetFile): AsyncGenerator<DatasetLine> {
  if (format === 'csv' || format === 'tsv') yield* rowsOfTable(await wholeText(open(), file), format);
  else if (format === 'json' && (await firstByte(open())) === '['.charCodeAt(0)) yield* rowsOfArray(await wholeText(open(), file));
  else yield* rowsOfLines(open());
}

interface RowTally {
  readonly good: number;
  readonly bad: number;
  readonly attached: number;
  readonly problems: readonly string[];
}

function assertUsable({ file, skipBadRows = false }: DatasetFile, { good, bad, attached, problems }: RowTally): void {
  if (good > 0 && (bad === 0 || skipBadRows)) return;
  const more = bad > problems.length ? [`and ${bad - problems.length} more`] : [];
  const none = attached > 0 ? 'every row has an attachment, which the agent does not see' : 'there is no question in it';
  const what = bad > 0 ? [...problems, ...more].join('; ') : none;
  throw new PlatformError('QUESTIONS_INVALID', `reading ${file}: ${what}`, { context: { bad, problems } });
}

interface DatasetLine {
  /** Location, for messages. */
  readonly at: string;
  /** The parsed JSON, or the parse error. */
  readonly row: unknown;
}

async function firstByte(input: AsyncIterable<Uint8Array>): Promise<number | undefined> {
  for await (const bytes of input) {
    const found = bytes.find((byte) => byte > 0x20 && byte < 0x80);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function* rowsOfLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<DatasetLine> {
  for await (const { line, text } of readLines(input)) {
    if (text.ok && text.value.trim() === '') continue;
    yield { at: `line ${line}`, row: text.ok ? parsed(text.value.replace(/^\ufeff/, '')) : new Error(text.problem) };
  }
}

async function wholeText(input: AsyncIterable<Uint8Array>, file: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of input) {
    bytes += part.length;
    if (bytes > MAX_WHOLE_BYTES) {
      const problem = `it has more than ${MAX_WHOLE_BYTES} bytes; write one JSON object per line (at most ${MAX_LINE_BYTES} bytes each)`;
      throw new PlatformError('QUESTIONS_INVALID', `reading ${file}: ${problem}`);
    }
    parts.push(part);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch (cause) {
    throw new PlatformError('QUESTIONS_INVALID', `reading ${file}: it is not valid UTF-8`, { cause });
  }
}

function* rowsOfArray(text: string): Generator<DatasetLine> {
  const rows = parsed(text);
  if (!Array.isArray(rows)) {
    yield { at: 'the file', row: rows instanceof Error ? rows : new Error('it is not an array') };
    return;
  }
  for (const [index, row] of rows.entries()) yield { at: `row ${index + 1}`, row };
}

function* rowsOfTable(text: string, format: 'csv' | 'tsv'): Generator<DatasetLine> {
  for (const { line, row } of rowsOfDelimited(text, format === 'csv' ? ',' : '\t')) yield { at: `line ${line}`, row };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    return new Error(`not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}
