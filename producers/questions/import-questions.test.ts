import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QuestionAccepted } from '../../schemas/generated/events.ts';
import { isPlatformError } from '../../streams/core/errors.ts';
import { importQuestions } from './import-questions.ts';
import type { ImportOptions } from './import-questions.ts';
import { parseQuestionLine } from './question-line.ts';
import { MAX_LINE_BYTES, readLines } from './read-lines.ts';

async function run(input: readonly (string | Uint8Array)[], more: Partial<ImportOptions> = {}) {
  const got: QuestionAccepted[] = [];
  const batches: number[] = [];
  const report = await importQuestions(() => input, {
    dataset: 'set',
    split: 'train',
    occurredAt: 7,
    producer: 'test',
    accept: async (questions) => {
      got.push(...questions);
      batches.push(questions.length);
    },
    ...more,
  }).catch((error: unknown) => error);
  return { report, got, batches };
}

const good = '{"question":"Who?","answer":"me"}';

describe('importing', () => {
  it('takes answers and augmented answers as texts or lists, ids as given or generated', async () => {
    const { report, got } = await run([
      `\ufeff${good}\r\n`,
      '\n{"question":" When? ","answer":[1999,"two",true],"aug_answer":"x","id":"q-2","more":1}\n',
      '{"question":"What?","answer":"a","aug_answer":["", "b"],"id":3}',
    ]);
    expect(report).toEqual({ imported: 3, problems: [], bad: 0 });
    expect(got.map((q) => [q.question, q.answers, q.aug_answers])).toEqual([
      ['Who?', ['me'], []],
      ['When?', ['1999', 'two', 'True'], ['x']],
      ['What?', ['a'], ['b']],
    ]);
    expect(got.map((q) => q.question_id)).toEqual([expect.stringMatching(/^set-[0-9a-f]{12}$/), 'q-2', '3']);
    expect(got[0]).toMatchObject({
      dataset: 'set',
      split: 'train',
      occurred_at: 7,
      event_id: `questions/set/${got[0]!.question_id}`,
      kind: 'imported',
    });
    const again = await run([good]);
    expect(again.got[0]!.question_id).toBe(got[0]!.question_id);
  });
  it('names every bad line and imports nothing', async () => {
    const lines = [
      good,
      '{',
      '[]',
      '{"answer":"x"}',
      '{"question":"q","answer":[]}',
      '{"question":"q2","answer":{}}',
      good,
      '{"question":"q3","answer":"a","id":"a b"}',
    ];
    lines.push('{"question":"q4","answer":"a","aug_answer":{}}', `{"question":"${'q'.repeat(20_001)}","answer":"a"}`);
    const { report, got } = await run([lines.join('\n')]);
    expect(got).toEqual([]);
    expect(isPlatformError(report, 'QUESTIONS_INVALID')).toBe(true);
    const { message, context } = report as { message: string; context: { problems: { line: number; problem: string }[] } };
    expect(context.problems.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(context.problems[5]!.problem).toBe('the same question or id as line 1');
    expect(message).toMatch(/^importing questions into set: nothing was imported: line 2: not JSON/);
  });
  it('skips bad lines if so configured', async () => {
    const { report, got } = await run([`x\n${good}\n\n`], { skipBadLines: true });
    expect(report).toMatchObject({ imported: 1, bad: 1, problems: [{ line: 1 }] });
    expect(got).toHaveLength(1);
  });
  it('refuses a file without a question', async () => {
    for (const input of [[], ['\n\n']]) expect(isPlatformError((await run(input)).report, 'QUESTIONS_INVALID')).toBe(true);
    const { report } = await run(['nothing'], { skipBadLines: true });
    expect(isPlatformError(report, 'QUESTIONS_INVALID')).toBe(true);
  });
  it('reports no more than the first 1,000 problems, and shows 20', async () => {
    const { report } = await run(Array.from({ length: 1_100 }, () => 'x\n'));
    const { message, context } = report as { message: string; context: { problems: unknown[]; bad: number } };
    expect([context.problems.length, context.bad]).toEqual([1_000, 1_100]);
    expect(message).toContain('and 1080 more');
  });
  it('hands over in batches', async () => {
    const { batches } = await run(Array.from({ length: 1_001 }, (_, at) => `{"question":"q${at}","answer":"a"}\n`));
    expect(batches).toEqual([500, 500, 1]);
  });
});

describe('lines', () => {
  const read = async (chunks: readonly (string | Uint8Array)[]) => {
    const lines = [];
    for await (const line of readLines(chunks)) lines.push(line);
    return lines;
  };
  it('are the same however the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: fc.constantFrom('a', '\n', 'ü', '東', '\r') }), fc.array(fc.nat(60)), async (text, places) => {
        const bytes = Buffer.from(text);
        const at = [0, ...places.map((place) => Math.min(place, bytes.length)).sort((a, b) => a - b), bytes.length];
        const chunks = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
        const expected = text.split('\n').map((line) => line.replace(/\r$/, ''));
        if (text === '' || text.endsWith('\n')) expected.pop();
        expect((await read(chunks)).map(({ text: line }) => (line.ok ? line.value : undefined))).toEqual(expected);
      }),
    );
  });
  it('that are not UTF-8 or too long are reported, and reading continues', async () => {
    const [first, second, third] = await read([Buffer.from([0xff, 10]), 'a'.repeat(MAX_LINE_BYTES + 1), '\nok']);
    expect(first).toEqual({ line: 1, text: { ok: false, problem: 'not valid UTF-8' } });
    expect(second).toMatchObject({ line: 2, text: { ok: false } });
    expect(third).toEqual({ line: 3, text: { ok: true, value: 'ok' } });
  });
  it('never make the parser throw', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.record({ question: fc.anything(), answer: fc.anything(), id: fc.anything() }).map((v) => JSON.stringify(v)),
        ),
        (text) => {
          const parsed = parseQuestionLine(text);
          if (parsed.ok) expect(parsed.value.answers.length).toBeGreaterThan(0);
          else expect(parsed.problem).not.toBe('');
        },
      ),
    );
  });
});
