// The questions of an evaluation: from benchmark files, or from a question set on the log.
import { createReadStream } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import type { EvaluationQuestion } from '../../../../producers/evaluations/evaluation-events.ts';
import { datasetColumns } from '../../../../producers/evaluations/dataset-row.ts';
import { readDataset, type Dataset, type DatasetFormat } from '../../../../producers/evaluations/read-dataset.ts';
import { messageOf, PlatformError } from '../../../../streams/core/errors.ts';
import { deriveSeed } from '../../../../streams/core/random.ts';
import { counted } from '../../../../streams/run/ending.ts';
import { parquetLines } from '../../../clickhouse/parquet-lines.ts';
import { noQuestionsOf, readQuestions, type QuestionSource } from '../../open/questions.ts';

/** The questions of one evaluation. */
export interface EvaluationData {
  readonly dataset: string;
  readonly split: string;
  readonly questions: readonly EvaluationQuestion[];
  /** The requested maximum number of questions; undefined for all. */
  readonly mostQuestions?: number;
  /** Rows of the file that are left out. */
  readonly leftOut?: number;
  /** Notes for people, one sentence each. */
  readonly notes?: readonly string[];
}

/** Names that denote a split of a benchmark. */
const SPLITS = new Set(['test', 'dev', 'train', 'validation', 'val']);
/** Names that identify neither a benchmark nor a split. */
const EMPTY = new Set(['metadata', 'data', 'questions', 'all', 'default', '']);
const ENDING = /\.(jsonl?|ndjson|csv|tsv|parquet)$/i;
const FOLDERS = 3;

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);

/** `GAIA/test.jsonl` and `GAIA/2023/test/metadata.parquet` are the split test of gaia; `frames.csv` is all of frames. */
export function nameOfFile(file: string): { readonly dataset: string; readonly split: string } {
  const [name = '', ...folders] = resolve(file).split(sep).reverse();
  // Hugging Face numbers the shards of a split
  const own = slug(name.replace(ENDING, '').replace(/-\d{5}-of-\d{5}(-[0-9a-f]{16})?$/, ''));
  const names = [own, ...folders.slice(0, FOLDERS).map(slug)];
  const at = names.findIndex((one, index) => !SPLITS.has(one) && !EMPTY.has(one) && (index === 0 || !/^\d+$/.test(one)));
  const parts = at < 0 ? names : names.slice(0, at);
  const split = parts.find((one) => SPLITS.has(one)) ?? (own === '' || at === 0 ? 'all' : own);
  return { dataset: names[at] ?? 'data', split };
}

export interface FileOptions {
  readonly skipBadRows: boolean;
  /** Asks questions that have an attachment, without sending it. Default: such rows are left out. */
  readonly withAttachments?: boolean;
  /** Maximum number of questions, always the same ones. Default: all. */
  readonly questions?: number;
}

/** Reads a benchmark file. Throws USAGE_INVALID when it cannot be read, QUESTIONS_INVALID when it is not a benchmark. */
export async function dataOfFile(file: string, { skipBadRows, withAttachments = false, questions }: FileOptions): Promise<EvaluationData> {
  try {
    await access(file, constants.R_OK);
  } catch (cause) {
    throw new PlatformError('USAGE_INVALID', `reading the questions of an evaluation: ${messageOf(cause)}`, { cause });
  }
  const names = nameOfFile(file);
  const read = await readDataset({ file, ...openingOf(file), skipBadRows, withAttachments });
  return {
    ...names,
    questions: questions === undefined ? read.questions : chosen(read.questions, questions),
    ...(questions === undefined ? {} : { mostQuestions: questions }),
    leftOut: read.bad + (withAttachments ? 0 : read.attached),
    notes: notesOf(names.dataset, read, withAttachments),
  };
}

function openingOf(file: string): { readonly open: () => AsyncIterable<Uint8Array>; readonly format: DatasetFormat } {
  const ending = ENDING.exec(file)?.[1]?.toLowerCase();
  if (ending === 'parquet') return { open: () => parquetLines(file, datasetColumns), format: 'lines' };
  return { open: () => createReadStream(file), format: ending === 'csv' || ending === 'tsv' ? ending : 'json' };
}

function notesOf(dataset: string, { bad, attached, questions }: Dataset, asked: boolean): readonly string[] {
  const rows = asked
    ? `asked without their attachments, which agents do not see: ${counted(attached, 'question')}`
    : `left out because agents do not see attachments: ${counted(attached, 'question')}, ${questions.length} remain; --with-attachments asks all of them, without attachments`;
  return [
    ...(attached === 0 ? [] : [`${dataset}: ${rows}`]),
    ...(bad === 0 ? [] : [`${dataset}: left out as unreadable: ${counted(bad, 'row')}`]),
  ];
}

/** The questions of one split of a set on the log, up to a maximum number. */
export async function dataOfSet(
  source: QuestionSource,
  { dataset, split, questions }: { readonly dataset: string; readonly split: string; readonly questions: number },
): Promise<EvaluationData> {
  const all = (await readQuestions(source, dataset)).filter((question) => question.split === split);
  if (all.length > 0) return { dataset, split, questions: chosen(all, questions), mostQuestions: questions };
  throw noQuestionsOf(dataset, split);
}

/** A sample that stays the same: each question has a fixed rank, so that rejecting one lets only one other take its place. */
function chosen<T extends { readonly question_id: string }>(all: readonly T[], count: number): readonly T[] {
  const ranked = [...all]
    .sort((a, b) => (a.question_id < b.question_id ? -1 : 1))
    .map((question) => ({ question, rank: deriveSeed(`held out/${question.question_id}`, 0) }))
    .sort((a, b) => a.rank - b.rank);
  return ranked.slice(0, count).map(({ question }) => question);
}
