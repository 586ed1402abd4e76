// One line of a question file. Unknown fields are ignored, so that sets with more columns can be imported unchanged.

export interface QuestionLine {
  readonly question: string;
  readonly answers: readonly string[];
  readonly augAnswers: readonly string[];
  readonly id: string | undefined;
}

export type ParsedQuestionLine = { readonly ok: true; readonly value: QuestionLine } | { readonly ok: false; readonly problem: string };

const ID = /^[\w.:-]{1,200}$/;
const MAX_QUESTION_CHARS = 20_000;
const bad = (problem: string): { readonly ok: false; readonly problem: string } => ({ ok: false, problem });

/** A text, number or boolean, or a list of them, as texts; undefined for anything else. */
function textsOf(value: unknown): string[] | undefined {
  const items: unknown[] = Array.isArray(value) ? value : [value];
  const texts: string[] = [];
  for (const item of items) {
    if (typeof item === 'string') texts.push(item.trim());
    else if (typeof item === 'number') texts.push(String(item));
    else if (typeof item === 'boolean') texts.push(item ? 'True' : 'False');
    else return undefined;
  }
  return texts;
}

function fieldsOf(text: string): Record<string, unknown> | undefined {
  const value: unknown = JSON.parse(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}

function idOf(given: unknown): string | undefined {
  if (typeof given !== 'string' && typeof given !== 'number') return undefined;
  return ID.test(String(given)) ? String(given) : undefined;
}

const missing = (value: unknown): boolean => value === undefined || value === null;

function questionProblem(question: unknown): string | undefined {
  if (typeof question !== 'string' || question.trim() === '') return '"question" has to be a text that is not empty';
  return question.length > MAX_QUESTION_CHARS ? `"question" is longer than ${MAX_QUESTION_CHARS} characters` : undefined;
}

/** The first problem of a line, if any. */
function problemOf({ question, answer, aug_answer: augmented, id }: Record<string, unknown>): string | undefined {
  const answers = textsOf(answer) ?? [];
  const checks = [
    questionProblem(question),
    answers.length === 0 || answers.includes('') ? '"answer" has to be a text or a list of texts, none of them empty' : undefined,
    missing(augmented) || textsOf(augmented) !== undefined ? undefined : '"aug_answer" has to be a text or a list of texts',
    missing(id) || idOf(id) !== undefined ? undefined : '"id" has to be 1 to 200 letters, digits or any of . _ : -',
  ];
  return checks.find((problem) => problem !== undefined);
}

function build(fields: Record<string, unknown>): ParsedQuestionLine {
  const problem = problemOf(fields);
  if (problem !== undefined) return bad(problem);
  const augmented = missing(fields['aug_answer']) ? [] : (textsOf(fields['aug_answer']) ?? []);
  return {
    ok: true,
    value: {
      question: String(fields['question']).trim(),
      answers: textsOf(fields['answer']) ?? [],
      augAnswers: augmented.filter((text) => text !== ''),
      id: idOf(fields['id']),
    },
  };
}

/** Parses one line; never throws. */
export function parseQuestionLine(text: string): ParsedQuestionLine {
  let fields: Record<string, unknown> | undefined;
  try {
    fields = fieldsOf(text);
  } catch (error) {
    return bad(`not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  return fields === undefined ? bad('not a JSON object') : build(fields);
}
