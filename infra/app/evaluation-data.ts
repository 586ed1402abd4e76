// What is evaluated: files of benchmarks, or the questions of a set on the log.
import { createReadStream } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import type { EvaluationQuestion } from '../../producers/evaluations/evaluation-events.ts';
import { readDataset } from '../../producers/evaluations/read-dataset.ts';
import { messageOf, PlatformError } from '../../streams/core/errors.ts';
import { createRandom, shuffled } from '../../streams/core/random.ts';
import { readQuestions, type QuestionSource } from './questions.ts';

/** The questions of one evaluation. */
export interface EvaluationData {
  readonly dataset: string;
  readonly split: string;
  readonly questions: readonly EvaluationQuestion[];
}

/** File names that say what part of a benchmark a file is, not which benchmark. */
const PARTS = new Set(['test', 'dev', 'train', 'validation', 'val', 'metadata', 'data', 'questions', 'all']);
const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);

/** `GAIA/test.jsonl` is the split test of gaia; `frames.jsonl` all of frames. */
export function nameOfFile(file: string): { readonly dataset: string; readonly split: string } {
  const name = slug(basename(file).replace(/\.(jsonl?|ndjson)$/i, ''));
  if (!PARTS.has(name)) return { dataset: name === '' ? 'data' : name, split: 'all' };
  const folder = slug(basename(dirname(resolve(file))));
  return { dataset: folder === '' ? 'data' : folder, split: name };
}

export interface FileOptions {
  readonly skipBadRows: boolean;
  /** Questions at most, the same ones every time; all unless given. */
  readonly questions?: number;
}

/** Reads a benchmark file; USAGE_INVALID when it cannot be read, QUESTIONS_INVALID when it is none. */
export async function dataOfFile(file: string, { skipBadRows, questions }: FileOptions): Promise<EvaluationData> {
  try {
    await access(file, constants.R_OK);
  } catch (cause) {
    throw new PlatformError('USAGE_INVALID', `reading the questions of an evaluation: ${messageOf(cause)}`, { cause });
  }
  const names = nameOfFile(file);
  const read = await readDataset({ file, dataset: names.dataset, open: () => createReadStream(file), skipBadRows });
  return { ...names, questions: questions === undefined ? read.questions : chosen(read.questions, questions) };
}

/** The questions of one split of a set on the log, so many at most. */
export async function dataOfSet(
  source: QuestionSource,
  { dataset, split, questions }: { readonly dataset: string; readonly split: string; readonly questions: number },
): Promise<EvaluationData> {
  const all = (await readQuestions(source, dataset)).filter((question) => question.split === split);
  if (all.length > 0) return { dataset, split, questions: chosen(all, questions) };
  throw new PlatformError(
    'NOT_FOUND',
    `evaluating: set ${dataset} has no ${split} questions; import some with \`turnstream questions import --dataset ${dataset} --split ${split} <file>\`, or start with --no-eval`,
  );
}

/** The same questions every time: drawn from all of them by a fixed order. */
function chosen<T extends { readonly question_id: string }>(all: readonly T[], count: number): readonly T[] {
  const byId = [...all].sort((a, b) => (a.question_id < b.question_id ? -1 : 1));
  return shuffled(byId, createRandom(1)).slice(0, count);
}
