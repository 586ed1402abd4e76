import { describe, expect, it, vi } from 'vitest';
import { startLlmServer } from '../../testing/llm-server.ts';
import { synthesizer } from '../../testing/llm-synthesizer.ts';
import { command } from '../../testing/up.ts';
import { env, file, linesOf, server, setUpSynthesizeCommand } from './synthesize-command.testing.ts';

setUpSynthesizeCommand();

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

describe('the llm writer', () => {
  const llm = (more: Record<string, string> = {}) =>
    env({
      ...{ TURNSTREAM_SYNTHESIS_URL: server.url, TURNSTREAM_SYNTHESIS_MODEL: 'writer', TURNSTREAM_SYNTHESIS_API_KEY: 'key-of-the-writer' },
      ...{ TURNSTREAM_SYNTHESIS_CHECK_MODEL: 'checker', TURNSTREAM_LLM_RETRIES: '0' },
      ...more,
    });
  const flags = ['--writer', 'llm', '--no-log', '--inject-rounds', '1', '--fuzz-rounds', '1', '--variants', '1', '--direct-samples', '2'];
  const run = (output: string, ...more: readonly string[]) =>
    command(llm(), 'questions', 'synthesize', ...flags, '--output', output, ...more);
  const seeds = (): string =>
    file(
      'cities.jsonl',
      ['Austria', 'Peru', 'Japan']
        .map((name) =>
          JSON.stringify({ question: `Which anthem does ${name} sing?`, answer: `Anthem of ${name.length}`, aug_answer: 'it' }),
        )
        .join('\n'),
    );

  it('grows the questions of a file with facts from the tools', async () => {
    const models = new Set<unknown>();
    const answer = synthesizer();
    server.setScript((request) => {
      models.add(request.body['model']);
      expect(request.headers.authorization).toBe('Bearer key-of-the-writer');
      return answer(request);
    });
    const made = await run(file('llm.jsonl'), '--seed-path', seeds(), '--split', 'heldout', '--dataset', 'mine');
    expect(made).toMatchObject({ code: 0, error: '' });
    expect(made.out).toContain('3 accepted (3 heldout), 0 rejected');
    expect(models).toEqual(new Set(['writer', 'checker']));
    for (const line of linesOf('llm.jsonl')) {
      expect(line).toMatchObject({ split: 'heldout', kind: 'llm', hops: 2, injections: 1, fuzzes: 1, closed_book: '0/2' });
      const [{ url, fact }] = line['evidence'] as [{ url: string; fact: string }];
      expect(url).toMatch(/^factbook:/);
      expect(line['question']).toContain(fact);
    }
  });

  it('starts with questions of the factbook when no file is given', async () => {
    server.setScript(synthesizer());
    const made = await run(file('from.jsonl'), '--count', '2', '--json');
    expect(made).toMatchObject({ code: 0, error: '' });
    expect(JSON.parse(made.out)).toMatchObject({ writer: 'llm', seeds: 2, walks: 2 });
  });

  it('keeps what was accepted when its server fails, reports it, and ends with exit code 1', async () => {
    let fuzzes = 0;
    server.setScript(
      synthesizer({
        fuzz: () =>
          fuzzes++ === 0 ? JSON.stringify({ detail: 'd', question: 'Which anthem is sung there, of all places?' }) : { kind: 'hangs_up' },
      }),
    );
    const made = await run(file('died.jsonl'), '--seed-path', seeds(), '--concurrency', '1');
    expect(made).toMatchObject({ code: 1, out: '' });
    // the walk that failed already had an accepted injection
    expect(made.error).toMatch(
      /making questions with writer: asking writer at http.*; what was made before is kept: 2 accepted, 0 rejected \[MODEL_UNAVAILABLE\]/,
    );
    expect(made.error).not.toContain('key-of-the-writer');
    expect(linesOf('died.jsonl').map(({ fuzzes: count }) => count)).toEqual([1, 0]);
  });

  it('sends a key to its own server only', async () => {
    const other = await startLlmServer(synthesizer());
    try {
      const seen = new Map<string, unknown>();
      const answer = synthesizer();
      const watch = (name: string) => (request: Parameters<typeof answer>[0]) => {
        seen.set(name, request.headers.authorization);
        return answer(request);
      };
      server.setScript(watch('writer'));
      other.setScript(watch('checker'));
      const more = llm({ TURNSTREAM_SYNTHESIS_CHECK_URL: other.url });
      const made = await command(more, 'questions', 'synthesize', ...flags, '--count', '1', '--output', file('two.jsonl'));
      expect(made).toMatchObject({ code: 0, error: '' });
      expect(seen).toEqual(
        new Map<string, unknown>([
          ['checker', undefined],
          ['writer', 'Bearer key-of-the-writer'],
        ]),
      );
    } finally {
      await other.close();
    }
  });
});
