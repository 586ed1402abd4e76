import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { QuestionAccepted } from '../../../schemas/generated/events.ts';
import type { Tool } from '../../../streams/core/agents.ts';
import { createRandom } from '../../../streams/core/random.ts';
import { createFactbookTools } from '../../factbook/tools.ts';
import { profileNamed } from '../../factbook/profiles.ts';
import { attributes } from '../attributes.ts';
import { checkQuestions } from '../check/check-questions.ts';
import type { Clause } from '../synthesis/clause.ts';
import { solve } from '../synthesis/fitting.ts';
import { quantities } from '../synthesis/quantities.ts';
import { combine } from './combine.ts';
import { decompose } from './decompose.ts';
import { MAX_PAGES, MAX_SEARCHES, searchFacts } from './search-facts.ts';
import { COMPACT_DATASET, writeCompactQuestions } from './write-compact-questions.ts';
import type { CompactQuestions } from './write-compact-questions.ts';

vi.setConfig({ hookTimeout: 120_000, testTimeout: 60_000 });

const austria = profileNamed('Austria')!;
const signal = new AbortController().signal;
const says = (key: string, value: string): Clause => ({ kind: 'says', attribute: attributes.find((one) => one.key === key)!, value });
const population = (low: number, high: number): Clause => ({
  ...{ kind: 'between', year: 2015, low, high },
  quantity: quantities.find(({ key }) => key === 'population')!,
});

const [search, access] = createFactbookTools() as readonly [Tool, Tool];
const queries: string[] = [];
const opened: string[] = [];
const counting = (tool: Tool, into: string[]): Tool => ({
  name: tool.name,
  call: (argument, stop) => {
    into.push(argument);
    return tool.call(argument, stop);
  },
});
const noPages: Tool = {
  name: 'access',
  call: async () => ({ status: 'error', errorType: 'not_found', text: 'There is no page.', items: [], cacheHit: false }),
};
const options = { occurredAt: 5, producer: 'test', quota: { train: 40, heldout: 10 } };
let written: CompactQuestions;
beforeAll(async () => {
  written = await writeCompactQuestions(1, { ...options, tools: [counting(search, queries), counting(access, opened)] });
});

describe('combine', () => {
  const euros = says('currency', 'euros');
  const many = population(8_000_000, 10_000_000);
  it('takes facts that only together fit one country', () => {
    expect(combine(austria, [])).toBeUndefined();
    expect(combine(austria, [euros])).toBeUndefined();
    const kept = combine(austria, [euros, many]);
    expect(kept).toEqual([euros, many]);
  });
  it('leaves out facts that are not needed, and rejects a fact about another country', () => {
    const vienna = says('capital', 'Vienna');
    expect(combine(austria, [euros, many, vienna])).toEqual([vienna]);
    expect(combine(austria, [says('capital', 'Prague')])).toBeUndefined();
  });
});

describe('decompose', () => {
  const parts = decompose(austria, 'Capital, name', createRandom(1));
  it('asks for other fields of the same country, the same ones for the same seed', () => {
    expect(parts.length).toBeGreaterThan(10);
    expect(parts.map(({ label }) => label)).not.toContain('Capital, name');
    for (const { text } of parts) expect(text).toMatch(/Austria\?$/);
    expect(decompose(austria, 'Capital, name', createRandom(1)).map(({ text }) => text)).toEqual(parts.map(({ text }) => text));
    expect(decompose(austria, 'Capital, name', createRandom(2)).map(({ text }) => text)).not.toEqual(parts.map(({ text }) => text));
  });
  it('uses no answer that identifies the country by itself', () => {
    const clauses = parts.flatMap(({ read }) => read(austria, createRandom(3)) ?? []);
    expect(clauses.length).toBeGreaterThan(5);
    for (const clause of clauses) {
      const fitting = solve({ kind: 'clauses', clauses: [clause] });
      expect(fitting).toContain(austria);
      expect(fitting.length).toBeGreaterThan(1);
    }
  });
});

describe('searchFacts', () => {
  const parts = decompose(austria, 'Capital, name', createRandom(1));
  const random = createRandom(7);
  it('searches five times at most', async () => {
    const nothing: Tool = { name: 'search', call: async () => ({ status: 'ok', errorType: '', text: 'No.', items: [], cacheHit: false }) };
    const found = await searchFacts(austria, parts, { search: nothing, access, random, signal });
    expect(found.searches).toHaveLength(MAX_SEARCHES);
    expect(found).toMatchObject({ clauses: [], pages: [] });
  });
  it('opens two pages at most, and takes from a page what the search results do not show', async () => {
    const told = parts.filter(({ read }) => read(austria, createRandom(3)) !== undefined).slice(0, 2);
    const hiding: Tool = {
      name: 'search',
      call: async () => ({ status: 'ok', errorType: '', text: '', items: [{ url: austria.url, title: '' }], cacheHit: false }),
    };
    const none = await searchFacts(austria, parts, { search: hiding, access: noPages, random, signal });
    expect(none).toMatchObject({ clauses: [], pages: Array.from({ length: MAX_PAGES }, () => austria.url) });
    const found = await searchFacts(austria, told, { search: hiding, access, random, signal });
    expect(found.pages).toEqual([austria.url]);
    expect(found.clauses.length).toBeGreaterThan(0);
  });
  it('takes no answer from a failed search', async () => {
    const failing: Tool = {
      name: 'search',
      call: async (query, stop) => ({ ...(await search.call(query, stop)), status: 'error', errorType: 'http_500' }),
    };
    expect((await searchFacts(austria, parts, { search: failing, access, random, signal })).clauses).toEqual([]);
  });
  it('stops when it has enough', async () => {
    const many = decompose(austria, 'Capital, name', createRandom(3));
    const { searches, clauses } = await searchFacts(austria, many, { search, access, random, signal });
    expect(clauses.length).toBeGreaterThan(1);
    expect(combine(austria, clauses)).toBeDefined();
    expect(searches.length).toBeLessThanOrEqual(MAX_SEARCHES);
    expect(searches.at(-1)?.clause).toBe(clauses.at(-1));
  });
});

describe('the questions of the compact recipe', () => {
  const counts = (questions: readonly QuestionAccepted[], split: string): number => questions.filter((one) => one.split === split).length;
  it('are as many as wanted, and the same each time', async () => {
    expect([counts(written.accepted, 'train'), counts(written.accepted, 'heldout')]).toEqual([40, 10]);
    expect(await writeCompactQuestions(1, options)).toEqual(written);
    expect(written.accepted.every(({ dataset }) => dataset === COMPACT_DATASET)).toBe(true);
  });
  it('pass checkQuestions, which shares no code with the writer', () => {
    const report = checkQuestions(written.accepted.map(({ question_id: id, question, answers }) => ({ id, question, answers })));
    expect(report).toMatchObject({ questions: 50, faults: [] });
  });
  it('need at least two facts, found in at most five searches and two pages', () => {
    for (const { question, history, gates, evidence } of written.accepted) {
      expect(question.match(/\bwhose\b/g)!.length).toBeGreaterThanOrEqual(2);
      expect(history.map(({ action }) => action)).toEqual(['seed', 'compose']);
      expect(history[1]!.detail.split('; ').length).toBeLessThanOrEqual(MAX_SEARCHES);
      expect(gates.every(({ passed }) => passed)).toBe(true);
      expect(evidence.length).toBeGreaterThanOrEqual(3);
    }
    const candidates = written.accepted.length + written.rejected.length;
    expect(queries.length).toBeLessThanOrEqual(MAX_SEARCHES * candidates);
    expect(opened.length).toBeLessThanOrEqual(MAX_PAGES * candidates);
    expect(opened.length).toBeGreaterThan(0);
  });
  it('keep the countries of training and evaluation apart', () => {
    const titles = (split: string) =>
      new Set(written.accepted.filter((one) => one.split === split).map(({ evidence }) => evidence.at(-1)!.title));
    for (const title of titles('train')) expect(titles('heldout')).not.toContain(title);
  });
  it('come with the rejected candidates and the names of the failed gates', () => {
    expect(written.rejected.length).toBeGreaterThan(0);
    for (const { reason, gates } of written.rejected) {
      expect(reason).toBe(
        gates
          .filter(({ passed }) => !passed)
          .map(({ gate }) => gate)
          .join(', '),
      );
      expect(reason).not.toBe('');
    }
  });
});
