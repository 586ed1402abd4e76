// Benchmark files by file extension, in their published formats.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { dataOfFile, nameOfFile } from './evaluation-data.ts';

const dir = mkdtempSync(join(tmpdir(), "turnstream data '"));
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

function file(name: string, text: string): string {
  mkdirSync(join(dir, name, '..'), { recursive: true });
  writeFileSync(join(dir, name), text);
  return join(dir, name);
}

/** Writes a Parquet file with chdb. */
function parquet(name: string, select: string): string {
  const path = file(name, '');
  rmSync(path);
  const sql = `${select} into outfile '${path.replaceAll("'", "\\'")}' format Parquet`;
  const engine = createRequire(import.meta.url).resolve('chdb');
  execFileSync(process.execPath, ['-e', 'require(process.argv[1]).query(process.argv[2])', engine, sql]);
  return path;
}

describe('the name of a file', () => {
  it.each([
    ['GAIA/test.jsonl', 'gaia', 'test'],
    ['GAIA/2023/validation/metadata.parquet', 'gaia', 'validation'],
    ['frames.tsv', 'frames', 'all'],
    ['frames-benchmark/test.tsv', 'frames-benchmark', 'test'],
    ['xbench/DeepSearch-2505.csv', 'deepsearch-2505', 'all'],
    ['hotpot_qa/data/validation-00000-of-00001.parquet', 'hotpot-qa', 'validation'],
    ['nq/metadata.jsonl', 'nq', 'metadata'],
    ['2wiki/dev.json', '2wiki', 'dev'],
    ['2025.jsonl', '2025', 'all'],
  ])('%s is %s, %s', (path, dataset, split) => {
    expect(nameOfFile(join('/some/where', path))).toEqual({ dataset, split });
  });
});

describe('a file', () => {
  it('gives the same questions in every format', async () => {
    const options = { skipBadRows: false };
    const rows = [{ Question: 'How "many", says 谁?', 'Final answer': '17', Level: 1, task_id: 't-1' }, { Question: 'b?', 'Final answer': 'B', Level: 2, task_id: 't-2' }]; // prettier-ignore
    const lines = await dataOfFile(file('a/gaia.jsonl', rows.map((row) => JSON.stringify(row)).join('\n')), options);
    expect(lines).toMatchObject({ dataset: 'gaia', leftOut: 0, notes: [], questions: [{ level: '1', task_id: 't-1' }, { level: '2' }] });
    const csv = 'task_id,Question,Level,Final answer\nt-1,"How ""many"", says 谁?",1,17\nt-2,b?,2,B\n';
    const tables = [file('b/gaia.csv', csv), file('c/GAIA.TSV', csv.replaceAll(',', '\t').replace('many""\t', 'many"",'))];
    const values = `('t-1', 'How "many", says 谁?', '1', '17', tuple(1)), ('t-2', 'b?', '2', 'B', tuple(2))`;
    const names = 'task_id String, Question String, Level String, "Final answer" String, "Annotator Metadata" Tuple(steps Int32)';
    tables.push(parquet('d/gaia.parquet', `select * from values('${names}', ${values})`));
    for (const table of tables) expect((await dataOfFile(table, options)).questions).toEqual(lines.questions);
  });

  it('in Parquet keeps lists and structs, and is rejected without a question or if it is not Parquet', async () => {
    const values = `(['Ada', 'A. Lovelace'], tuple('who?'), 'big'), (['B'], tuple('what?'), 'big')`;
    const path = parquet(
      'nq/dev.parquet',
      `select * from values('golden_answers Array(String), question Tuple(text String), x String', ${values})`,
    );
    expect((await dataOfFile(path, { skipBadRows: false })).questions).toMatchObject([
      { question: 'who?', answers: ['Ada', 'A. Lovelace'] },
      { question: 'what?', answers: ['B'] },
    ]);
    await expect(dataOfFile(parquet('x/none.parquet', 'select 1 as x'), { skipBadRows: false })).rejects.toThrow('it has no question');
    await expect(dataOfFile(file('x/text.parquet', 'no'), { skipBadRows: false })).rejects.toMatchObject({ code: 'QUESTIONS_INVALID' });
  });

  it('reports rows that are left out', async () => {
    const row = (file_name: string, at: number) => JSON.stringify({ Question: `q${at}`, 'Final answer': 'a', file_name });
    const path = file('GAIA/validation.jsonl', ['', 'a.png', ''].map(row).join('\n'));
    const left = await dataOfFile(path, { skipBadRows: false });
    expect(left).toMatchObject({
      leftOut: 1,
      notes: [expect.stringContaining('gaia: left out because agents do not see attachments: 1 question, ')],
    });
    const asked = await dataOfFile(path, { skipBadRows: false, withAttachments: true });
    expect(asked).toMatchObject({ leftOut: 0, notes: [expect.stringContaining('asked without their attachments')] });
    expect(asked.questions).toHaveLength(3);
    const bad = await dataOfFile(file('GAIA/dev.jsonl', `${row('', 1)}\n{}\n`), { skipBadRows: true });
    expect(bad).toMatchObject({ leftOut: 1, notes: ['gaia: left out as unreadable: 1 row'] });
  });
});
