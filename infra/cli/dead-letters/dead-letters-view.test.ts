import { describe, expect, it } from 'vitest';
import type { DeadLetter } from '../../../consumers/dead-letters/letters.ts';
import { timeOrAge } from './command.ts';
import { hexDump, renderLetter, renderLetters, renderRetry, toJson } from './dead-letters-view.ts';

const letter: DeadLetter = {
  id: 'rollouts/3/7',
  at: { partition: 0, offset: 2 },
  original: { topic: 'rollouts', partition: 3, offset: 7 },
  run: 'run-a',
  reason: 'unknown_schema',
  error: 'schema id 7\u001b[31m is not known',
  step: 'warehouse',
  atMs: Date.UTC(2026, 0, 2),
  valueBytes: 3,
  cut: false,
  retryOf: '',
  retriedAtMs: undefined,
};

describe('a list of dead letters', () => {
  it('has one line for each letter, counts at the end, and no control characters of its content', () => {
    const groups = [{ topic: 'rollouts', reason: 'unknown_schema', letters: 3, retried: 1 }];
    const again = { ...letter, id: 'rollouts/3/9', retryOf: letter.id };
    const text = renderLetters({ letters: [letter, { ...letter, retriedAtMs: 1 }, again], groups, total: 5 });
    expect(text.split('\n')).toEqual([
      '… 2 older ones; see --limit',
      '2026-01-02T00:00:00.000Z  open          rollouts/3/7                  unknown_schema    schema id 7·[31m is not known',
      '2026-01-02T00:00:00.000Z  retried       rollouts/3/7                  unknown_schema    schema id 7·[31m is not known',
      '2026-01-02T00:00:00.000Z  failed again  rollouts/3/9                  unknown_schema    schema id 7·[31m is not known',
      '',
      '       3  rollouts  unknown_schema  (1 retried)',
      '       5  dead letters',
      '',
    ]);
    expect(renderLetters({ letters: [], groups: [], total: 0 })).toBe('no dead letters\n');
  });
});

describe('one dead letter', () => {
  const record = {
    topic: 'dead-letters',
    partition: 0,
    offset: 2,
    timestampMs: 0,
    key: Buffer.from('k'),
    value: null,
    headers: {},
  } as const;

  it('that cannot be decoded itself shows what is known of it', () => {
    const original = { ...letter.original, topic: 'dead-letters' };
    const odd = { ...letter, original, retriedAtMs: 5, retryOf: 'rollouts/3/1', atMs: Number.MAX_VALUE };
    const text = renderLetter({
      letter: odd,
      record,
      event: undefined,
      decoded: undefined,
      obstacle: 'it is a record of dead-letters itself',
    });
    expect(text).toContain('retried at 1970-01-01T00:00:00.005Z');
    expect(text).toContain('retry of  rollouts/3/1');
    expect(text).toContain('written unknown by unknown');
    expect(text).toContain('not possible: it is a record of dead-letters itself');
    expect(text).toContain('value: none');
    const unread = { letter, record, event: undefined, decoded: undefined };
    expect(renderLetter({ ...unread, obstacle: 'unknown_schema: id 7' })).toContain('still cannot be decoded: unknown_schema: id 7');
    expect(renderLetter({ ...unread, obstacle: '' })).toContain('possible');
  });

  it('has its bytes in hexadecimal and as text', () => {
    expect(hexDump(Buffer.from('\u0000hello world, hello'))).toBe(
      '  000000  00 68 65 6c 6c 6f 20 77 6f 72 6c 64 2c 20 68 65  .hello world, he\n  000010  6c 6c 6f                                         llo\n',
    );
    expect(hexDump(Buffer.alloc(100), 16)).toContain('… 84 more bytes');
    expect(toJson({ bytes: Buffer.from([1, 255]), text: 'a' })).toBe('{"bytes":"01ff","text":"a"}');
  });
});

describe('a retry', () => {
  it('reports the outcome of each letter', () => {
    const lines = [
      { id: 'a', verdict: 'retried', detail: '' },
      { id: 'b', verdict: 'left', detail: 'why' },
    ] as const;
    expect(renderRetry(lines)).toBe('retried            a\nnot retried        b: why\n1 retried, 1 not retried\n');
    expect(renderRetry([])).toBe('no dead letters\n');
  });

  it('accepts times and ages', () => {
    expect(timeOrAge('2h', 10_000_000)).toBe(2_800_000);
    expect(timeOrAge('2026-01-02T00:00:00Z', 0)).toBe(Date.UTC(2026, 0, 2));
    expect(() => timeOrAge('soon', 0)).toThrow('an age');
  });
});
