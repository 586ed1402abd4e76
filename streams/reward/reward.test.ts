import fc from 'fast-check';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { extractAnswer, formatOk, parseAction, renderAction } from './format.ts';
import { chineseTokens, normalizeAnswer, normalizeText, words } from './normalise.ts';
import { f1Score, scoreAnswer, trajectoryReward } from './score.ts';
import type { Scores } from './score.ts';

type Vector =
  | { kind: 'score'; answer: string; gold: string[]; train: Scores; eval: Scores }
  | { kind: 'format'; text: string; format_ok: boolean; answer: string | null };

const file = '../shared/vectors/asearcher-rewards.jsonl';
const there = existsSync(file);

describe('scores of the original code', () => {
  it.skipIf(!there)(there ? 'are all reproduced' : `skipped: ${file} is not there`, () => {
    const vectors = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Vector);
    expect(vectors.length).toBeGreaterThan(300);
    for (const vector of vectors) {
      if (vector.kind === 'score') {
        for (const variant of ['train', 'eval'] as const) {
          expect({ vector, scores: scoreAnswer(vector.answer, vector.gold, variant) }).toEqual({ vector, scores: vector[variant] });
        }
      } else {
        expect(vector.kind).toBe('format');
        expect({ vector, ok: formatOk(vector.text) }).toEqual({ vector, ok: vector.format_ok });
        expect({ vector, answer: extractAnswer(vector.text) ?? null }).toEqual({ vector, answer: vector.answer });
      }
    }
  });
});

describe('normalizers', () => {
  it('treat whitespace, words and articles as Python does', () => {
    expect(words('\u001c a\u0085b\u3000c\ufeff ')).toEqual(['a', 'b', 'c\ufeff']);
    expect(normalizeAnswer('The Straße of an İstanbul, a_the')).toBe('straße of i̇stanbul athe');
    expect(normalizeAnswer('a\u0301 b')).toBe('\u0301 b');
    expect(normalizeAnswer('²a')).toBe('²a');
    expect(normalizeText(' ΟΔΟΣ-7! ')).toBe('οδος 7');
    expect([...chineseTokens('第12月3².')]).toEqual(['第', '12', '月', '²', '3²']);
  });
  it('are idempotent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const once = normalizeText(text);
        expect(normalizeText(once)).toBe(once);
      }),
    );
    // Removing an article between words never creates a new one, and lowercase text stays unchanged.
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'n', 't', 'h', 'e', ' ', '-', '_', 'É', 'İ', '1') }), (text) => {
        const once = normalizeAnswer(text);
        expect(normalizeAnswer(once)).toBe(once);
      }),
    );
  });
});

describe('scores', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'True', ' ', ',', '北', '1', 'The') });
  it('lie in [0, 1], are symmetric without Chinese, and are 1 for the same text that has tokens', () => {
    fc.assert(
      fc.property(text, text, (answer, gold) => {
        const forth = f1Score(answer, gold, 'eval');
        expect(forth).toBe(f1Score(gold, answer, 'eval'));
        expect(forth).toBeGreaterThanOrEqual(0);
        expect(forth).toBeLessThanOrEqual(1);
        const { em, cem } = scoreAnswer(answer, [gold], 'train');
        if (em === 1) expect(cem).toBe(1);
      }),
    );
    expect(f1Score('x y', 'x y', 'train')).toBe(1);
    expect(scoreAnswer(undefined, ['x'], 'train')).toEqual({ f1: 0, em: 0, cem: 0 });
    expect(scoreAnswer('x', [], 'train')).toEqual({ f1: 0, em: 0, cem: 0 });
  });
  it('weight augmented answers with 0.3 and the format with 0 or 1', () => {
    const gold = { answers: ['Paris'], augAnswers: ['Paris city'], reward: 'f1' } as const;
    const of = (answer: string, ok = true) => trajectoryReward({ answer, formatOk: ok }, gold);
    expect(of('Paris').reward).toBeCloseTo(1);
    expect(of('Paris city').reward).toBeCloseTo((2 / 3) * 0.7 + 0.3);
    expect(of('city')).toMatchObject({ f1: 0, reward: (2 / 3) * 0.3 });
    expect(of('Paris', false)).toEqual({ f1: 1, em: 1, cem: 1, reward: 0, formatOk: false });
    expect(trajectoryReward({ answer: 'Paris', formatOk: true }, { ...gold, augAnswers: [], reward: 'em' }).reward).toBe(1);
  });
});

describe('tool calls', () => {
  it('are parsed from the last pair of tags, a search before an access, and a call before an answer', () => {
    expect(parseAction('<answer>1</answer><search> a </search> <search>b\n</search>')).toEqual({ tool: 'search', query: 'b' });
    expect(parseAction('<answer>1</answer><access>u</access><search>')).toEqual({ tool: 'access', url: 'u' });
    expect(parseAction('<answer>1</answer> <answer>')).toEqual({ tool: 'answer', answer: '1' });
    expect(parseAction('</answer>')).toBeUndefined();
  });
  it('never throw, whatever a model writes, and read back what was rendered', () => {
    const part = fc.constantFrom('<search>', '</search>', '<access>', '</access>', '<answer>', '</answer>', '</think>', 'x', ' ', '\ud800');
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const text = parts.join('');
        expect(typeof formatOk(text)).toBe('boolean');
        const action = parseAction(text);
        if (action?.tool === 'answer') expect(extractAnswer(text)).toBe(action.answer);
      }),
    );
    for (const action of [
      { tool: 'search', query: 'q' },
      { tool: 'access', url: 'u' },
      { tool: 'answer', answer: 'a' },
    ] as const) {
      expect(parseAction(renderAction(action))).toEqual(action);
      expect(formatOk(renderAction(action))).toBe(true);
    }
  });
});
