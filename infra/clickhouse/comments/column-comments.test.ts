import { describe, expect, it } from 'vitest';
import { byName, byTable } from './column-comments.ts';

const entries = [...Object.entries(byName), ...Object.values(byTable).flatMap((comments) => Object.entries(comments))];

/** Patterns of column names that imply a unit, and what their comments must contain. */
const UNITS: readonly (readonly [RegExp, RegExp])[] = [
  [/_ms(?:_|$)|^ms(?:_|$)/, /\bms\b/],
  [/_bytes$/, /\bbytes\b/],
  [/_chars(?:_|$)/, /\bcharacters\b/],
  [/(?:^|_)tokens(?:_|$)(?!ks)/, /\btokens?\b/i],
  [/(?:_at|^at|_timestamp)$/, /\bUTC, (?:micro|milli)seconds\b/],
  [/(?:^|_)sha256$/, /\bhexadecimal\b/],
  [/_rate$|_fraction$|^(?:f1|em|cem)$|^(?:avg|pass)_|_ks$/, /\b0 (?:to|or) 1\b|^1 when .* else 0/],
  [/^staleness_|_staleness_/, /\bversions\b/],
  [/_base64$/, /\bbase64\b/],
  [/_id$|^id$/, /\bId\b|\bName\b/],
  [/(?:logprob|entropy|_kl)s?$/, /\bnats\b/],
];

describe('comments of columns', () => {
  it.each(entries)('of %s is short and plain: %s', (_, comment) => {
    expect(comment).toMatch(/^\S[\x20-\x7e]*\S$/);
    expect(comment.length).toBeLessThanOrEqual(130);
    expect(comment).not.toMatch(/\.$/);
  });

  it.each(entries)('of %s names its unit: %s', (name, comment) => {
    for (const [quantity, unit] of UNITS) if (quantity.test(name)) expect(comment).toMatch(unit);
  });

  it('differ from the general one where a table has its own', () => {
    for (const [table, comments] of Object.entries(byTable)) {
      // its comments are all in turnComments, which is also part of the general ones
      if (table === 'turns') continue;
      for (const [name, comment] of Object.entries(comments)) {
        if (!MIGRATED.has(`${table}.${name}`)) expect(comment, `${table}.${name}`).not.toBe(byName[name]);
      }
    }
  });
});

/** Columns whose migrations declare a comment, which only an entry of their table replaces. */
const MIGRATED: ReadonlySet<string> = new Set([
  'heartbeats.running',
  'run_events.learner',
  'run_events.resume',
  'steps.weights_sha256',
  'steps.resume',
  'batches.resume',
  'policies.parent',
  'policies.sha256',
  'policies.architecture',
  'expired_attempts.next_attempt',
  'questions.history',
  'evaluation_scores.judge',
  'evaluation_scores.verdict',
]);
