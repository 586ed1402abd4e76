// One row of a benchmark file, whatever the benchmark calls its columns. Known are the files as they are published:
// GAIA with its levels and files, xBench-DeepSearch (encrypted by the row's own canary), Frames, HotpotQA, 2WikiMultiHopQA, NQ in its forms, and
// plain rows with a question and an answer. Pure; a row that cannot be used is a problem, never an exception.

import { textsIn } from './text-list.ts';

export interface DatasetRow {
  readonly question: string;
  /** Any of them is right; at least one. */
  readonly answers: readonly string[];
  /** As the benchmark names it; empty where it has none. */
  readonly level: string;
  /** Id of the row in its benchmark; empty where it has none. */
  readonly taskId: string;
  /** File that belongs to the question; empty where there is none. */
  readonly attachment: string;
}

export type ReadRow = { readonly ok: true; readonly value: DatasetRow } | { readonly ok: false; readonly problem: string };

type Fields = Readonly<Record<string, unknown>>;

/** In the order in which they are looked for; the first that holds something counts. */
const QUESTIONS = ['question', 'Question', 'prompt', 'Prompt', 'query', 'question_text', 'input'] as const;
const ANSWERS = ['answer', 'gt', 'golden_answers', 'Final answer', 'Answer', 'answers', 'short_answers', 'final_answer', 'target'] as const;
const ALIASES = ['answer_aliases', 'aliases', 'possible_answers'] as const;
const LEVELS = ['Level', 'level', 'difficulty', 'Difficulty'] as const;
const IDS = ['task_id', 'id', '_id', 'qid', 'question_id', 'Unnamed: 0', ''] as const;
const ATTACHMENTS = ['file_name', 'file_path', 'attachment', 'image'] as const;

/** Every column that a row is read from. */
export const datasetColumns: readonly string[] = [...QUESTIONS, ...ANSWERS, ...ALIASES, ...LEVELS, ...IDS, ...ATTACHMENTS, 'canary'];

/** Stands for an answer that a benchmark keeps back, as GAIA does for its test split. */
const KEPT_BACK = '?';

const MAX_QUESTION_CHARS = 100_000;

/** Reads one row. */
export function readRow(row: unknown): ReadRow {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return bad('it is no JSON object');
  const fields = decrypted(row as Fields);
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

/** Of a row whose split has no published answers. */
const KEPT_BACK_PROBLEM = `its answer is "${KEPT_BACK}": the benchmark keeps the answers of this split back; use one whose answers are published`;

/** A text or a number as a text; empty without. */
function firstId(fields: Fields, names: readonly string[]): string {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === 'number' || typeof value === 'bigint') return String(value);
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
  }
  return '';
}

/** Its name, or of one that is part of the row the name of its column. */
function attachmentOf(fields: Fields): string {
  for (const name of ATTACHMENTS) {
    const value = fields[name];
    if (typeof value === 'string' && value.trim() !== '') return value.startsWith('data:') ? name : value.trim();
    if (typeof value !== 'object' || value === null) continue;
    const { path } = value as Fields;
    return typeof path === 'string' && path !== '' ? path : name;
  }
  return '';
}

const bad = (problem: string): ReadRow => ({ ok: false, problem });

function firstText(fields: Fields, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = fields[name];
    // NQ has its question as an object in the original release
    const text = typeof value === 'object' && value !== null && 'text' in value ? value.text : value;
    if (typeof text === 'string' && text.trim() !== '') return text.trim();
  }
  return undefined;
}

function firstTexts(fields: Fields, names: readonly string[]): readonly string[] {
  for (const name of names) {
    const texts = textsOf(fields[name]);
    if (texts.length > 0) return texts;
  }
  return [];
}

/** Texts of a text, number, boolean or list of them; objects give those of the fields that benchmarks keep answers in. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return textsIn(value);
  if (typeof value === 'number') return [String(value)];
  if (typeof value === 'boolean') return [value ? 'yes' : 'no'];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  const { text, value: inner, aliases } = value as Fields;
  return [...textsOf(text ?? inner), ...textsOf(aliases)];
}

/** xBench keeps its texts from crawlers: base64 of the bytes, combined with the canary by exclusive or. */
function decrypted(fields: Fields): Fields | string {
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
