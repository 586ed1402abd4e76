import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scaled, trackVersions, versionOf } from './weight-versions.ts';

describe('a version', () => {
  it.each([
    [12, 12],
    ['12', 12],
    ['v12', 12],
    ['step-0012', 12],
    ['Qwen2.5-7B-step-12', 12],
    ['qwen2.5-7b-v9', 9],
    ['grpo-1.5b/weights_v7', 7],
    ['/ckpt/global_step_400', 400],
    ['llama3:v1.run@17', 17],
    ['Qwen2.5-7B-Instruct', -1],
    ['Qwen2.5', -1],
    ['gpt-4o', -1],
    ['gpt-4o-mini-2024-07-18', -1],
    ['model-20240718', -1],
    [20_240_718, 20_240_718],
    ['a1b2c3d4', -1],
    [0, 0],
    ['default', -1],
    ['', -1],
    [-3, -1],
    ['-3', -1],
    [1.5, -1],
    [2 ** 40, -1],
    [null, -1],
    [undefined, -1],
    [{}, -1],
    ['12 b', -1],
  ])('%j is %i', (value, wanted) => {
    expect(versionOf(value)).toBe(wanted);
  });
});

describe('the version of any name', () => {
  const name = fc.stringMatching(/^([A-Za-z]+\d?(\.\d)?[A-Za-z][-_/ ]){0,4}$/);
  it('is the number after its last separator', () => {
    fc.assert(
      fc.property(
        name,
        fc.constantFrom('', 'v', 'step', 'step-', 'weights_v', 'iter_'),
        fc.integer({ min: 0, max: 10_000 }),
        (prefix, word, n) => {
          expect(versionOf(`${prefix}${word}${n}`)).toBe(n);
        },
      ),
    );
  });
  it('is a version or -1 for any value', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(versionOf(value)).toBeGreaterThanOrEqual(-1);
        expect(Number.isInteger(versionOf(value))).toBe(true);
      }),
    );
  });
});

describe('a label of a run', () => {
  it.each([
    ['run-a/7', 7],
    ['run-b/7', -1],
    ['run-a-2/7', -1],
    ['9/7', -1],
    ['run-a/step-7', 7],
    ['v7', 7],
    ['Qwen/Qwen2.5-7B-step-12', 12],
    ['/ckpt/global_step_400', 400],
    [7, 7],
    ['unknown', -1],
  ])('%j is %i for run-a', (value, wanted) => {
    expect(versionOf(value, 'run-a')).toBe(wanted);
  });
  it('is its number if it names this run, and unknown if it names any other', () => {
    const slug = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,12}$/);
    fc.assert(
      fc.property(slug, slug, fc.nat(100_000), (run, other, version) => {
        expect(versionOf(`${other}/${version}`, run)).toBe(other === run ? version : -1);
        expect(versionOf(`${other}/${version}`)).toBe(version);
      }),
    );
  });
});

describe('the versions of an answer', () => {
  const paths = ['metadata.weight_versions', 'output_versions', 'metadata.weight_version', 'header:x-policy-version'];
  const named = (version: string) => ({ metadata: { weight_version: version } });
  const track = (chunks: readonly (readonly [unknown, number])[], headers = {}) => {
    const versions = trackVersions(paths);
    versions.begin(new Headers(headers));
    for (const [chunk, tokens] of chunks) versions.add(chunk, tokens);
    return versions;
  };
  it.each([
    ['no version is reported', [[{}, 3]], {}, [{ version: -1, tokens: 10 }]],
    ['no chunk at all', [], {}, [{ version: -1, tokens: 10 }]],
    ['a header', [[{}, 3]], { 'x-policy-version': '4' }, [{ version: 4, tokens: 10 }]],
    ['one for the answer', [[named('5'), 3]], {}, [{ version: 5, tokens: 10 }]],
    [
      'only the last chunk',
      [
        [{}, 9],
        [named('5'), 0],
      ],
      {},
      [{ version: 5, tokens: 10 }],
    ],
    [
      'it changes during the answer',
      [
        [named('5'), 3],
        [named('6'), 2],
      ],
      {},
      [
        { version: 5, tokens: 6 },
        { version: 6, tokens: 4 },
      ],
    ],
    [
      'one holds until another is named',
      [
        [named('5'), 2],
        [{}, 1],
        [named('6'), 2],
      ],
      {},
      [
        { version: 5, tokens: 6 },
        { version: 6, tokens: 4 },
      ],
    ],
    [
      'the header names the first',
      [
        [{}, 1],
        [named('6'), 1],
      ],
      { 'x-policy-version': '5' },
      [
        { version: 5, tokens: 5 },
        { version: 6, tokens: 5 },
      ],
    ],
    [
      'a list with one per token',
      [[{ output_versions: [5, 5, 5, 6, 6] }, 5]],
      {},
      [
        { version: 5, tokens: 6 },
        { version: 6, tokens: 4 },
      ],
    ],
    [
      'spans',
      [
        [
          {
            metadata: {
              weight_versions: [
                { version: 'v1', start: 0, end: 4 },
                { version: 'v2', start: 4, end: 10 },
              ],
            },
          },
          1,
        ],
      ],
      {},
      [
        { version: 1, tokens: 4 },
        { version: 2, tokens: 6 },
      ],
    ],
    ['a name that is no number', [[named('default'), 3]], {}, [{ version: -1, tokens: 10 }]],
  ] as const)('%s', (...[, chunks, headers, wanted]) => {
    expect(track(chunks, headers).spans(10)).toEqual(wanted);
  });
  it.each([
    ['alone', [[named('run-b/9'), 3]], {}, [[-1, 10]], true],
    [
      'after those of the run',
      [
        [named('run-a/5'), 2],
        [named('run-b/9'), 1],
        [{}, 2],
      ],
      {},
      [
        [5, 4],
        [-1, 6],
      ],
      true,
    ],
    [
      'before those of the run',
      [
        [named('run-b/9'), 2],
        [named('run-a/5'), 3],
      ],
      {},
      [
        [-1, 4],
        [5, 6],
      ],
      true,
    ],
    ['in the header', [[{}, 1]], { 'x-policy-version': 'run-b/9' }, [[-1, 10]], true],
    [
      'in a list',
      [[{ output_versions: ['run-a/5', 'run-b/9'] }, 2]],
      {},
      [
        [5, 5],
        [-1, 5],
      ],
      true,
    ],
    ['nowhere', [[named('run-a/5'), 2]], { 'x-policy-version': 'run-a/4' }, [[5, 10]], false],
  ] as const)('are unknown where the weights belong to another run: %s', (...[, chunks, headers, wanted, foreign]) => {
    const versions = trackVersions(paths, 'run-a');
    versions.begin(new Headers(headers));
    for (const [chunk, tokens] of chunks) versions.add(chunk, tokens);
    expect(versions.spans(10).map(({ version, tokens }) => [version, tokens])).toEqual(wanted);
    expect(versions.foreign()).toBe(foreign);
  });
  it('add up to all the tokens, and are only versions that were reported', () => {
    const span = fc.record({ version: fc.integer({ min: -1, max: 4 }), tokens: fc.integer({ min: 0, max: 50 }) });
    fc.assert(
      fc.property(fc.array(span, { maxLength: 8 }), fc.integer({ min: 0, max: 500 }), (spans, total) => {
        const result = scaled(spans, total);
        expect(result.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(total);
        expect(result.length).toBeGreaterThan(0);
        if (total > 0) for (const { tokens } of result) expect(tokens).toBeGreaterThan(0);
        const known = spans.map(({ version }) => version);
        if (spans.length > 0) for (const { version } of result) expect(known).toContain(version);
      }),
    );
  });
});
