// Reads one row of a benchmark file, whatever the benchmark calls its columns. It supports the published files of GAIA with its levels and
// attachments, xBench-DeepSearch (encrypted with each row's canary), Frames, HotpotQA, 2WikiMultiHopQA, NQ in its variants, and plain rows
// with a question and an answer. Pure; an unusable row is a problem, never an exception.

import { textsIn } from './text-list.ts';

export interface DatasetRow {
  readonly question: string;
  /** Each of them is correct; at least one. */
  readonly answers: readonly string[];
  /** As the benchmark names it; empty if it has none. */
  readonly level: string;
  /** Id of the row in its benchmark; empty if it has none. */
  readonly taskId: string;
  /** File that belongs to the question; empty if there is none. */
  readonly attachment: string;
}

export type ReadRow = { readonly ok: true; readonly value: DatasetRow } | { readonly ok: false; readonly problem: string };

type DatasetFields = Readonly<Record<string, unknown>>;

/** In search order; the first nonempty column counts. */
const QUESTIONS = ['question', 'Question', 'prompt', 'Prompt', 'query', 'question_text', 'input'] as const;
const ANSWERS = ['answer', 'gt', 'golden_answers', 'Final answer', 'Answer', 'answers', 'short_answers', 'final_answer', 'target'] as const;
const ALIASES = ['answer_aliases', 'aliases', 'possible_answers'] as const;
const LEVELS = ['Level', 'level', 'difficulty', 'Difficulty'] as const;
const IDS = ['task_id', 'id', '_id', 'qid', 'question_id', 'Unnamed: 0', ''] as const;
const ATTACHMENTS = ['file_name', 'file_path', 'attachment', 'image'] as const;

/** Every column that a row is read from. */
export const datasetColumns: readonly string[] = [...QUESTIONS, ...ANSWERS, ...ALIASES, ...LEVELS, ...IDS, ...ATTACHMENTS, 'canary'];

/** Placeholder for an answer that a benchmark withholds, as GAIA does for its test split. */
const KEPT_BACK = '?';

const MAX_QUESTION_CHARS = 100_000;

export function readRow(row: unknown): ReadRow {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return bad('it is no JSON object');
  const fields = decrypted(row as DatasetFields);
  if (typeof fields === 'string') return bad(fields);
  const question = firstText(fields, QUESTIONS);
  if (question === undefined) return bad(`it has no question: looked for ${QUESTIONS.join(', ')}`);
  if (question.length > MAX_QUESTION_CHARS) return bad(`its question is longer than ${MAX_QUESTION_CHARS} characters`);
  const answers = [...firstTexts(fields, ANSWERS), ...firstTexts(fields, ALIASES)];
  if (answers.length === 0) return bad(`it has no answer: looked for ${ANSWERS.join(', ')}`);
  if (answers.every((answer) => answer === KEPT_BACK)) return bad(KEPT_BACK_PROBLEM);
  const value = { question, answers: [...new Set(answers)], level: firstId(fields, LEVELS), taskId: firstId(fields, IDS) };
  return { ok: true, value: { ...value, attachment: attachmentOf(fields) } };
}

/** For a row whose split has no published answers. */
const KEPT_BACK_PROBLEM = `its answer is "${KEPT_BACK}": the benchmark keeps the answers of this split back; use one whose answers are published`;

/** A text or a number as text; empty if there is none. */
function firstId(fields: DatasetFields, names: readonly string[]): string {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === 'number' || typeof value === 'bigint') return String(value);
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
  }
  return '';
}

/** The file name, or, for an attachment that is part of the row, the name of its column. */
function attachmentOf(fields: DatasetFields): string {
  for (const name of ATTACHMENTS) {
    const value = fields[name];
    if (typeof value === 'string' && value.trim() !== '') return value.startsWith('data:') ? name : value.trim();
    if (typeof value !== 'object' || value === null) continue;
    const { path } = value as DatasetFields;
    return typeof path === 'string' && path !== '' ? path : name;
  }
  return '';
}

const bad = (problem: string): ReadRow => ({ ok: false, problem });

function firstText(fields: DatasetFields, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = fields[name];
    // the original release of NQ has the question as an object
    const text = typeof value === 'object' && value !== null && 'text' in value ? value.text : value;
    if (typeof text === 'string' && text.trim() !== '') return text.trim();
  }
  return undefined;
}

function firstTexts(fields: DatasetFields, names: readonly string[]): readonly string[] {
  for (const name of names) {
    const texts = textsOf(fields[name]);
    if (texts.length > 0) return texts;
  }
  return [];
}

/** The texts in a text, number, boolean or list of them; for an object, those of the fields in which benchmarks keep answers. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return textsIn(value);
  if (typeof value === 'number') return [String(value)];
  if (typeof value === 'boolean') return [value ? 'yes' : 'no'];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  const { text, value: inner, aliases } = value as DatasetFields;
  return [...textsOf(text ?? inner), ...textsOf(aliases)];
}

/** xBench hides its texts from crawlers: base64 of the bytes XORed with the canary. */
function decrypted(fields: DatasetFields): DatasetFields | string {
  const { canary, prompt, answer } = fields;
  if (typeof canary !== 'string' || canary === '' || typeof prompt !== 'string') return fields;
  if (!isBase64(prompt)) return fields;
  try {
    return { ...fields, prompt: decrypt(prompt, canary), answer: typeof answer === 'string' ? decrypt(answer, canary) : answer };
  } catch {
    return 'its canary does not decrypt it';
  }
}

const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(text) && text.replace(/\s/g, '').length % 4 === 0;

function decrypt(text: string, key: string): string {
  const keyBytes = Buffer.from(key, 'utf8');
  const bytes = Buffer.from(text, 'base64');
  const plain = bytes.map((byte, at) => byte ^ (keyBytes[at % keyBytes.length] ?? 0));
  return new TextDecoder('utf-8', { fatal: true }).decode(plain);
}
