// Benchmark files through the command: a language model answers, another one judges, an evaluation is resumed and compared.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { useKafka } from '../../testing/kafka.ts';
import { startLlmServer } from '../../testing/llm-server.ts';
import { command } from '../../testing/up.ts';

interface Printed {
  readonly evaluations: readonly { readonly evaluation_id: string; readonly [name: string]: unknown }[];
  readonly average: Readonly<Record<string, number>>;
}

it('asks an agent again if its code changed, and not if only its path did', { timeout: 300_000 }, async () => {
  const kafka = await useKafka();
  const dir = mkdtempSync(join(tmpdir(), 'turnstream-edited-'));
  onTestFinished(() => {
    rmSync(dir, { recursive: true, force: true });
  });
  const env = {
    ...{ KAFKA_BROKERS: kafka.brokers.join(','), TURNSTREAM_NAMESPACE: kafka.namespace, TURNSTREAM_DATA_DIR: dir },
    ...{ TURNSTREAM_LOG_LEVEL: 'error', TURNSTREAM_HEARTBEAT_MS: '500', TURNSTREAM_SILENCE_MS: '5000', TURNSTREAM_POLICY_MODULE: '' },
  };
  const questions = join(dir, 'questions.jsonl');
  writeFileSync(questions, '{"question": "Capital of Austria?", "answer": "Vienna"}\n{"question": "And of Chad?", "answer": "Vienna"}\n');
  // one folder per version, because a process caches the modules that it has loaded
  const agent = (folder: string, answer: string): string => {
    mkdirSync(join(dir, folder));
    writeFileSync(join(dir, folder, 'answer.mjs'), `export const answer = ${JSON.stringify(answer)};\n`);
    const turn = `{ text: answer, action: { tool: 'answer', answer }, spans: [], promptTokens: 90, completionTokens: 3, finishReason: 'stop' }`;
    writeFileSync(
      join(dir, folder, 'agent.mjs'),
      `import { answer } from './answer.mjs';\nexport default () => ({ name: 'mine', decide: async () => (${turn}) });\n`,
    );
    return join(dir, folder, 'agent.mjs');
  };
  const evaluated = async (module: string): Promise<Readonly<Record<string, unknown>>> => {
    const flags = ['--policy', 'module', '--run', 'mine', '--data', questions, '--n', '2', '--format', 'json'];
    const { code, out, error } = await command({ ...env, TURNSTREAM_POLICY_MODULE: module }, 'evaluate', ...flags);
    expect(code, error).toBe(0);
    return { error, ...(JSON.parse(out) as Printed).evaluations[0] };
  };
  const first = await evaluated(agent('a', 'Vienna'));
  expect(first).toMatchObject({ error: '', avg_em: 1, prompt_tokens_mean: 90, generated_tokens_mean: 3 });
  const moved = await evaluated(agent('b', 'Vienna'));
  expect(moved).toMatchObject({
    evaluation_id: first['evaluation_id'],
    error: expect.stringContaining('all 4 answers were recorded before') as string,
  });
  const edited = await evaluated(agent('c', 'Bern'));
  expect(edited).toMatchObject({ error: '', avg_em: 0 });
  expect(edited['evaluation_id']).not.toBe(first['evaluation_id']);
  // two concurrent evaluations do not use each other's workers, although both belong to one run
  const both = await Promise.all([evaluated(agent('d', 'Vienna!')), evaluated(agent('e', 'Linz'))]);
  expect(both.map((one) => one['avg_em'])).toEqual([1, 0]);
});

it('answers, judges, resumes, shows and compares', { timeout: 300_000 }, async () => {
  const kafka = await useKafka();
  const server = await startLlmServer();
  onTestFinished(() => server.close());
  const dir = mkdtempSync(join(tmpdir(), 'turnstream-evaluate-'));
  onTestFinished(() => {
    rmSync(dir, { recursive: true, force: true });
  });
  let judged = 0;
  server.setScript(({ prompt, body }) => {
    if (!prompt.includes('You mark the answer')) {
      const right = body['model'] === 'better' || prompt.includes('Austria');
      return { kind: 'says', text: `I know.</think><answer> ${right ? 'Vienna, the capital' : 'Bern'} </answer>` };
    }
    judged += 1;
    if (prompt.includes('Answer to mark: "Bern"')) return { kind: 'says', text: 'who knows' };
    return { kind: 'says', text: '{"rationale": "it is", "judgement": "correct"}' };
  });
  const env = {
    KAFKA_BROKERS: kafka.brokers.join(','),
    TURNSTREAM_NAMESPACE: kafka.namespace,
    TURNSTREAM_DATA_DIR: dir,
    TURNSTREAM_LOG_LEVEL: 'error',
    TURNSTREAM_HEARTBEAT_MS: '500',
    TURNSTREAM_SILENCE_MS: '5000',
    TURNSTREAM_LLM_URL: server.url,
    TURNSTREAM_LLM_MODEL: 'Some/Model-7B',
    TURNSTREAM_JUDGE_URL: server.url,
    TURNSTREAM_JUDGE_MODEL: 'judge',
  };
  mkdirSync(join(dir, 'GAIA'));
  const gaia = join(dir, 'GAIA', 'test.jsonl');
  const frames = join(dir, 'frames.json');
  const rows = [
    { task_id: 't-1', Question: 'Capital of Austria?', Level: 1, 'Final answer': 'Vienna', file_name: '' },
    { task_id: 't-2', Question: 'Which is it?', Level: 2, 'Final answer': 'Vienna', file_name: '' },
    { task_id: 't-3', Question: 'What is on the picture?', Level: 2, 'Final answer': 'Vienna', file_name: 't-3.png' },
  ];
  writeFileSync(gaia, rows.map((row) => JSON.stringify(row)).join('\n'));
  writeFileSync(frames, JSON.stringify([{ Prompt: 'What is the capital of Austria?', Answer: 'Vienna' }]));
  const flags = ['--policy', 'llm', '--data', gaia, frames, '--n', '2', '--concurrency', '8', '--judge'];

  const first = await command(env, 'evaluate', ...flags, '--format', 'json', '--out', join(dir, 'result.csv'));
  expect(first).toMatchObject({ code: 0 });
  expect(first.error).toMatch(/^gaia: left out because agents do not see attachments: 1 question, 2 remain; .*\n$/);
  const printed = JSON.parse(first.out) as Printed;
  expect(printed.evaluations).toMatchObject([
    {
      ...{ dataset: 'gaia', split: 'test', complete: true, samples: 2, questions: 2, answers: 4, judged: 4, judge_invalid: 2 },
      ...{
        left_out: 1,
        generated_tokens_max: expect.any(Number) as number,
        levels: [
          { level: '1', avg_judge: 1 },
          { level: '2', avg_judge: 0 },
        ],
      },
      ...{ avg_cem: 0.5, avg_judge: 0.5, pass_judge: 0.5, success_rate: 0.5, turns_mean: 1, unanswered: 0 },
    },
    { dataset: 'frames', split: 'all', questions: 1, avg_judge: 1, judge_invalid: 0 },
  ]);
  expect(printed.average).toMatchObject({ avg_judge: 0.75, answers: 6 });
  expect(judged).toBe(4 + 2 * 3);
  const csv = await readFile(join(dir, 'result.csv'), 'utf8');
  expect(csv).toMatch(/^evaluation_id,.*,level\n.*,gaia,test,.*,all\n.*,gaia,.*,1\n.*,gaia,.*,2\n.*,frames,all,.*,all\n$/);

  const { requests } = server.seen();
  const again = await command(env, 'evaluate', ...flags);
  expect(again.out).toMatch(/^Avg@2 judge +50\.0 +100\.0 +75\.0$/m);
  expect(again.out).toMatch(/^gaia by level +questions/m);
  expect(again.error).toMatch(/-gaia-test-.*: all 4 answers were recorded before \(begun .* UTC\), nothing is asked; --again asks anew$/m);
  // the server is asked for its identity once per file
  expect(server.seen().requests).toBe(requests + 2);

  const better = await command({ ...env, TURNSTREAM_LLM_MODEL: 'better' }, 'evaluate', ...flags, '--format', 'json');
  const ids = [printed, JSON.parse(better.out) as Printed].map(({ evaluations }) => evaluations[0]?.evaluation_id ?? '');
  expect(ids[0]).toMatch(/^eval-some-model-7b-[0-9a-f]{8}-gaia-test-vnewest-sample-n2-[0-9a-f]{8}$/);
  expect((await command(env, 'evaluate', 'show', ...ids)).out).toMatch(/^Avg@2 judge +50\.0 +100\.0 +75\.0$/m);
  const compared = await command(env, 'evaluate', 'compare', ids[0] ?? '', ids[1] ?? '', '--format', 'json');
  expect(JSON.parse(compared.out)).toMatchObject({ questions: 2, onlyA: 0, figures: expect.any(Array) as unknown });
  expect((await command(env, 'evaluate', 'compare', ids[0] ?? '', ids[1] ?? '')).out).toMatch(/^avg_judge +50\.0 +100\.0 +\+50\.0/m);

  // the same questions under another file name are the same questions
  const renamed = join(dir, 'renamed.csv');
  writeFileSync(renamed, 'id,question,answer\n1,Capital of Austria?,Vienna\n2,Which is it?,Vienna\n');
  const one = ['--policy', 'llm', '--n', '2', '--concurrency', '8', '--format', 'json'];
  const idOf = ({ out }: { readonly out: string }): string => (JSON.parse(out) as Printed).evaluations[0]?.evaluation_id ?? '';
  const other = idOf(await command(env, 'evaluate', ...one, '--data', renamed));
  const pairs = await command(env, 'evaluate', 'compare', ids[0] ?? '', other);
  expect(pairs.out).toContain('2 questions in both, paired by their words and gold answers\n');
  expect(pairs.out).toContain('  (renamed all, 4 answers, 2 a question)');
  const unlike = printed.evaluations[1]?.evaluation_id ?? '';
  const unrelated = await command(env, 'evaluate', 'compare', ids[0] ?? '', unlike);
  expect(unrelated).toMatchObject({ code: 2, out: '', error: expect.stringContaining('[EVALUATIONS_UNRELATED]') as string });

  // new weights, or another address, make another evaluation; --again always asks again
  const evaluations = [other];
  for (const more of [['--again'], []]) evaluations.push(idOf(await command(env, 'evaluate', ...one, ...more, '--data', renamed)));
  server.setModels([{ id: 'Some/Model-7B', root: '/weights/2', created: 1 }]);
  evaluations.push(idOf(await command(env, 'evaluate', ...one, '--data', renamed)));
  server.setModels([{ id: 'Some/Model-7B', root: '/weights/2', created: 2 }]);
  evaluations.push(idOf(await command(env, 'evaluate', ...one, '--data', renamed)));
  const moved = { ...env, TURNSTREAM_LLM_URL: server.url.replace('127.0.0.1', 'localhost') };
  evaluations.push(idOf(await command(moved, 'evaluate', ...one, '--data', renamed)));
  const [, repeated, taken, heavier, same, elsewhere] = evaluations;
  expect(repeated).toBe(`${other}-again1`);
  expect(taken).toBe(repeated);
  expect(same).toBe(heavier);
  expect(new Set([other, repeated, heavier, elsewhere]).size).toBe(4);

  expect(await command(env, 'evaluate', 'show', 'nothing')).toMatchObject({
    code: 2,
    error: expect.stringContaining('NOT_FOUND') as string,
  });
  expect(await command(env, 'evaluate', '--data', gaia)).toMatchObject({ code: 2, error: expect.stringContaining('--run') as string });
  expect(await command(env, 'evaluate', '--policy', 'llm', '--data', join(dir, 'none'))).toMatchObject({ code: 2 });
  expect(await command({ ...env, TURNSTREAM_LOG_LEVEL: 'silent' }, 'evaluate', '--run', 'r', '--data', gaia)).toMatchObject({ code: 2 });
  const unjudged = { ...env, TURNSTREAM_JUDGE_URL: '' };
  expect(await command(unjudged, 'evaluate', ...flags)).toMatchObject({ code: 2 });
  // without its server, an evaluation fails and prints no scores
  await server.close();
  const silent = { ...env, TURNSTREAM_LOG_LEVEL: 'silent', TURNSTREAM_LLM_RETRIES: '0' };
  expect(await command(silent, 'evaluate', ...one, '--data', renamed)).toMatchObject({ code: 1, out: '' });
});
