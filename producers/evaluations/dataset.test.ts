import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRow } from './dataset-row.ts';
import { readDataset, type DatasetFile } from './read-dataset.ts';

const CANARY = 'canary-7f1';
const encrypt = (text: string): string => {
  const key = Buffer.from(CANARY);
  return Buffer.from(Buffer.from(text, 'utf8').map((byte, at) => byte ^ (key[at % key.length] ?? 0))).toString('base64');
};

describe('rows of benchmarks', () => {
  it.each([
    ['plain', { question: ' Who? ', answer: 'Ada' }, 'Who?', ['Ada']],
    ['ASearcher', { id: 3, question: 'Who?', gt: ['Ada', 'Ada Lovelace'], answer: null }, 'Who?', ['Ada', 'Ada Lovelace']],
    ['GAIA', { task_id: 't', Question: 'How many?', Level: 1, 'Final answer': '17', file_name: '' }, 'How many?', ['17']],
    ['Frames', { 'Unnamed: 0': 0, Prompt: 'If my…', Answer: 'Jane Ballou', wiki_links: '[]' }, 'If my…', ['Jane Ballou']],
    ['HotpotQA', { _id: 'h', question: 'Same?', answer: 'yes', supporting_facts: [], context: [], level: 'hard' }, 'Same?', ['yes']],
    ['2WikiMultiHopQA', { _id: 'w', question: 'Where?', answer: 'Rome', answer_aliases: ['Roma', 'Rome'] }, 'Where?', ['Rome', 'Roma']],
    ['NQ', { question: 'when?', answer: ['1999', 'in 1999'] }, 'when?', ['1999', 'in 1999']],
    ['NQ, as often converted', { id: 'test_0', question: 'when?', golden_answers: ['1999'] }, 'when?', ['1999']],
    ['NQ, as released', { question: { text: 'when?' }, annotations: {}, answers: [{ text: '1999' }] }, 'when?', ['1999']],
    ['xBench-DeepSearch', { id: '1', prompt: encrypt('谁?'), answer: encrypt('艾达'), canary: CANARY }, '谁?', ['艾达']],
    ['xBench, decrypted', { id: '1', prompt: '谁是她?', answer: '艾达', canary: CANARY }, '谁是她?', ['艾达']],
    ['a list in a text', { question: 'q', answer: '["a", "b"]' }, 'q', ['a', 'b']],
    ['a text that only looks like a list', { question: 'q', answer: '["a"b"]' }, 'q', ['["a"b"]']],
    ['numbers and booleans', { question: 'q', answer: [7, true] }, 'q', ['7', 'yes']],
  ])('%s', (...[, row, question, answers]) => {
    expect(readRow(row)).toMatchObject({ ok: true, value: { question, answers, attachment: '' } });
  });

  it.each([
    [{ task_id: 'c61d', Level: 1, file_name: '' }, ['1', 'c61d', '']],
    [{ task_id: 'c61d', Level: '3', file_name: 'c61d.xlsx' }, ['3', 'c61d', 'c61d.xlsx']],
    [{ _id: '5a8b', level: 'hard' }, ['hard', '5a8b', '']],
    [{ 'Unnamed: 0': 0 }, ['', '0', '']],
    [{ id: 7, image: { bytes: 'x', path: 'p.png' } }, ['', '7', 'p.png']],
    [{ image: { bytes: 'x', path: null } }, ['', '', 'image']],
    [{ image: 'data:image/png;base64,AAAA' }, ['', '', 'image']],
  ])('keep their level, id and attachment: %j', (row, [level, taskId, attachment]) => {
    expect(readRow({ ...row, question: 'q', answer: 'a' })).toMatchObject({ ok: true, value: { level, taskId, attachment } });
  });

  it.each([
    [`['14 December 1972 UTC', "it's"]`, ['14 December 1972 UTC', "it's"]],
    [`['a' 'b\\'c']`, ['a', "b'c"]],
    [`['caf\\xe9', '\\u00e9t\\u00e9', 'x\\ny']`, ['café', 'été', 'x\ny']],
    [`['only']`, ['only']],
    [`['a', b]`, [`['a', b]`]],
    [`['', 'a']`, ['a']],
  ])('may have their answers as a Python list: %s', (answer, answers) => {
    expect(readRow({ question: 'q', answer })).toMatchObject({ ok: true, value: { answers } });
  });

  it.each([
    ['no JSON object', [1]],
    ['has no question', { answer: 'a', question: ' ' }],
    ['has no answer', { question: 'q', answer: [] }],
    ['keeps the answers of this split back', { Question: 'q', 'Final answer': '?', Level: 2 }],
    ['longer than', { question: 'q'.repeat(100_001), answer: 'a' }],
    ['does not decrypt', { prompt: Buffer.from([0xff, 0xfe, 0xfd]).toString('base64'), answer: 'a', canary: '\u0001' }],
  ])('that cannot be used are a problem: %s', (problem, row) => {
    expect(readRow(row)).toEqual({ ok: false, problem: expect.stringContaining(problem) as string });
  });

  it('never throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom('question', 'answer', 'canary', 'prompt', 'gt'), (value, name) => {
        expect(typeof readRow({ question: 'q', answer: 'a', [name]: value }).ok).toBe('boolean');
        expect(typeof readRow(value).ok).toBe('boolean');
      }),
    );
  });
});

const read = (text: string, more: Partial<DatasetFile> = {}) =>
  readDataset({
    ...{ file: 'f.jsonl', ...more },
    // byte by byte, to test every chunk boundary
    open: async function* () {
      for (const byte of Buffer.from(text)) yield Uint8Array.of(byte);
    },
  });

describe('files of benchmarks', () => {
  it('are JSON lines or an array, and give the same ids', async () => {
    const rows = [
      { question: 'ä?', answer: 'b' },
      { question: 'c?', answer: 'd' },
      { question: 'c?', answer: 'd' },
    ];
    const lines = await read(`\ufeff${rows.map((row) => JSON.stringify(row)).join('\r\n\n')}\n`);
    const id = expect.stringMatching(/^q-[0-9a-f]{16}$/) as string;
    expect(lines.questions).toMatchObject([
      { question_id: id, question: 'ä?', answers: ['b'], aug_answers: [] },
      { question_id: id, question: 'c?', answers: ['d'], aug_answers: [] },
    ]);
    expect(
      await read(lines.questions.map(({ question, answers }) => JSON.stringify({ Prompt: question, gt: answers })).join('\n'), {
        file: 'renamed.jsonl',
      }),
    ).toEqual(lines);
    expect(await read(` \n${JSON.stringify(rows, null, 1)}`)).toEqual(lines);
    const other = await read(JSON.stringify([{ question: 'ä?', answer: 'other' }]));
    expect(other.questions[0]?.question_id).not.toBe(lines.questions[0]?.question_id);
  });

  it('are rejected with the bad lines, unless those are skipped', async () => {
    const text = '{"question": "q", "answer": "a"}\nnonsense\n{"question": "q"}\n';
    await expect(read(text)).rejects.toMatchObject({
      code: 'QUESTIONS_INVALID',
      message: expect.stringMatching(/f\.jsonl: line 2: not JSON.*line 3: it has no answer/) as string,
    });
    expect(await read(text, { skipBadRows: true })).toMatchObject({ bad: 2, questions: [{ question: 'q' }] });
    await expect(read('{}\n'.repeat(30))).rejects.toThrow('and 10 more');
    await expect(read('')).rejects.toThrow('no question');
    await expect(read('[1', { skipBadRows: true })).rejects.toThrow('not JSON');
    await expect(read('[{}]')).rejects.toThrow('row 1');
    await expect(read('question,answer\nq\n', { format: 'csv' })).rejects.toThrow('line 2: it has no answer');
  });

  it('may be tables, and give the same questions', async () => {
    const json = await read('{"Prompt": "If \\"a\\", b?\\tand c", "Answer": "Jane"}\n{"Prompt": "d?", "Answer": "1"}');
    const csv = '\ufeff,Prompt,Answer,reasoning_types\r\n0,"If ""a"", b?\tand c",Jane,"x | y"\r\n1,d?,1,\r\n';
    const tsv = '\tPrompt\tAnswer\n0\t"If ""a"", b?\tand c"\tJane\n1\td?\t1\n';
    for (const [text, format] of [
      [csv, 'csv'],
      [tsv, 'tsv'],
    ] as const) {
      const found = await read(text, { format });
      expect(found.questions.map(({ question_id: id }) => id)).toEqual(json.questions.map(({ question_id: id }) => id));
      expect(found.questions.map(({ task_id: id }) => id)).toEqual(['0', '1']);
    }
    const xbench = `id,prompt,answer,reference_steps,canary\n1,${encrypt('谁?')},${encrypt('艾达')},,${CANARY}\n`;
    expect((await read(xbench, { format: 'csv' })).questions).toMatchObject([{ question: '谁?', answers: ['艾达'], task_id: '1' }]);
  });

  it('leave out rows with an attachment unless these are requested, and count them', async () => {
    const text = ['', 'a.png', 'b.xlsx']
      .map((file, at) => JSON.stringify({ Question: `q${at}`, 'Final answer': 'a', file_name: file }))
      .join('\n');
    expect(await read(text)).toMatchObject({ attached: 2, bad: 0, questions: [{ question: 'q0' }] });
    const asked = await read(text, { withAttachments: true });
    expect(asked).toMatchObject({ attached: 2, questions: [{ attachment: '' }, { attachment: 'a.png' }, { attachment: 'b.xlsx' }] });
    await expect(read(text.split('\n').slice(1).join('\n'))).rejects.toThrow('every row has an attachment');
  });

  it('are rejected when their answers are withheld, even if bad rows are skipped', async () => {
    const text = '{"Question": "q", "Final answer": "?"}\n{"Question": "r", "Final answer": "?"}\n';
    for (const skipBadRows of [false, true])
      await expect(read(text, { skipBadRows })).rejects.toThrow('keeps the answers of this split back');
  });
});
