// The commands `questions synthesize` and `questions check`, without a log.
import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { parseQuestionLine } from '../../../producers/questions/question-line.ts';
import { command } from '../../testing/up.ts';
import { env, file, linesOf, setUpSynthesizeCommand } from './synthesize-command.testing.ts';

setUpSynthesizeCommand();

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const synthesize = (...flags: readonly string[]) => command(env(), 'questions', 'synthesize', '--no-log', ...flags);

describe('the factbook writer', () => {
  const small =
    '--count 6 --variants 1 --inject-rounds 3 --fuzz-rounds 1 --direct-samples 4 --max-direct-share 1 --confirm-samples 4'.split(' ');

  it('writes lines that can be imported and checked, and a report', async () => {
    const [output, report] = [file('out.jsonl'), file('report.json')];
    const made = await synthesize(...small, '--seed', '4', '--output', output, '--report', report, '--json');
    expect(made).toMatchObject({ code: 0, error: '' });
    const printed = JSON.parse(made.out) as { accepted: number; candidates: number; rejected: number };
    expect(JSON.parse(readFileSync(report, 'utf8'))).toEqual(printed);
    expect(printed).toMatchObject({ writer: 'factbook', dataset: 'synthetic', seed: 4, seeds: 6, walks: 6, directSamples: 8 });
    expect(printed.candidates).toBe(printed.accepted + printed.rejected);
    expect(printed.accepted).toBeGreaterThan(0);
    const lines = linesOf('out.jsonl');
    expect(lines).toHaveLength(printed.accepted);
    for (const line of lines) {
      expect(parseQuestionLine(JSON.stringify(line))).toMatchObject({ ok: true, value: { id: line['id'] } });
      expect(line).toMatchObject({
        id: expect.stringMatching(/^synthetic-[0-9a-f]{12}$/) as string,
        split: expect.stringMatching(/^(train|heldout)$/) as string,
        closed_book: expect.stringMatching(/^\d\/8$/) as string,
      });
      for (const name of ['answer', 'evidence', 'gates', 'history']) expect((line[name] as unknown[]).length).toBeGreaterThan(0);
    }
    const held = await command(env(), 'questions', 'check', output);
    expect(held).toMatchObject({ code: 0, error: '' });
    expect(held.out).toMatch(new RegExp(`^${lines.length} questions, 0 faults\nclauses   mean .*\nlook-ups  mean .*\n$`));

    const wrong = file('wrong.jsonl', [...lines, { ...lines[0], answer: 'Nowhere' }].map((line) => JSON.stringify(line)).join('\n'));
    const checked = await command(env(), 'questions', 'check', wrong);
    expect(checked.code).toBe(1);
    expect(checked.out).toMatch(/^\w+\t.*\n/);
    const asJson = await command(env(), 'questions', 'check', wrong, '--json');
    expect(asJson.code).toBe(1);
    expect(JSON.parse(asJson.out)).toMatchObject({ questions: lines.length + 1, faults: expect.arrayContaining([]) as unknown });

    const seeds = file(
      'seeds.jsonl',
      lines.map(({ history }) => JSON.stringify({ question: (history as { after: string }[])[0]!.after, answer: 'x' })).join('\n'),
    );
    const again = await synthesize(...small, '--seed', '4', '--seed-path', seeds, '--output', file('again.jsonl'));
    expect(again).toMatchObject({ code: 0, error: '' });
    expect(again.out).toMatch(/^\d seed questions, \d walks, \d+ candidates in [\d.]+ s\n\d accepted/);
    expect(again.out).toContain('not_a_duplicate');
    const seedsOf = (name: string) => linesOf(name).map(({ history }) => (history as { after: string }[])[0]!.after);
    expect(seedsOf('again.jsonl').length).toBeGreaterThan(0);
    expect(seedsOf('out.jsonl')).toEqual(expect.arrayContaining(seedsOf('again.jsonl')));
  });

  it.each<[string, readonly string[], RegExp]>([
    ['nothing to write to', [], /--no-log needs --output/],
    ['a share above 1', ['--max-direct-share', '1.5'], /0\.\.1/],
    ['a share that is not a number', ['--review-share', 'some'], /0\.\.1/],
    ['no rounds', ['--inject-rounds', '0'], /1\.\.64/],
    ['another writer', ['--writer', 'people'], /Allowed choices are factbook, llm/],
    ['two places for seeds', ['--from', 'factbook', '--seed-path', 'x'], /cannot be used with/],
    ['a bad name', ['--dataset', 'My Set'], /slug/],
    ['a missing file of seeds', ['--output', 'x', '--seed-path', '/does/not/exist'], /ENOENT/],
    ['an output that cannot be written', ['--output', '/does/not/exist', '--count', '1'], /writing questions to \/does\/not\/exist/],
    [
      'an llm that is not configured',
      ['--writer', 'llm', '--output', '/dev/null'],
      /TURNSTREAM_SYNTHESIS_URL and TURNSTREAM_SYNTHESIS_MODEL/,
    ],
  ])('refuses %s with exit code 2', async (_, flags, message) => {
    const { code, out, error } = await synthesize(...flags);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(error).toMatch(message);
  });

  it('refuses seeds that it cannot read, or that ask for no field of a profile', async () => {
    const broken = await synthesize('--output', file('none'), '--seed-path', file('broken.jsonl', '{"question": "Q?"}\nnot JSON\n'));
    expect(broken).toMatchObject({
      code: 2,
      error: expect.stringMatching(/reading seed questions from .*broken\.jsonl: line 1: "answer".*line 2: not JSON/) as string,
    });
    const strange = await synthesize(
      '--output',
      file('none'),
      '--seed-path',
      file('strange.jsonl', '{"question": "Who are you?", "answer": "I"}'),
    );
    expect(strange).toMatchObject({ code: 2, error: expect.stringContaining('1 of 1 seed questions') as string });
  });

  it('refuses to check a file that is missing or has a bad line', async () => {
    expect(await command(env(), 'questions', 'check', '/does/not/exist')).toMatchObject({ code: 2 });
    const bad = await command(env(), 'questions', 'check', file('bad.jsonl', '{"question": "Q?", "answer": "x"}\n7\n'));
    expect(bad).toMatchObject({ code: 2, error: expect.stringContaining('line 2: not a JSON object') as string });
  });
});
