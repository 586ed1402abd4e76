// What the views of a trajectory request of its turns, and how they read the responses. No DOM, for tests.
import type { ApiTurn, NumberOrNull } from '../data/shapes.ts';

const ofCalls = [
  ...['more_tools', 'more_tool_arguments', 'more_tool_statuses', 'more_tool_error_types', 'more_tool_ms', 'more_tool_results'],
  'more_tool_result_chars',
];
const read = ['text', 'tool_result', ...ofCalls];
const ofTokens = ['logprobs', 'token_ids', 'token_ends', 'loss_mask'];
const others = [
  ...['prompt_ids', 'sampling', 'tokenizer_sha256', 'more_call_ids', 'more_tool_result_sha256s'],
  ...['image_sha256s', 'image_mimes', 'image_bytes', 'image_uris'],
  ...['extra_kinds', 'extra_uris', 'extra_sha256s', 'extra_shapes', 'extra_dtypes'],
];

/** Fields that a response has only if the request names them. */
const fieldsOf = {
  transcript: read,
  turn: [...read, 'logprobs'],
  tokens: ['text', ...ofTokens],
  raw: [...read, ...ofTokens, ...others],
} as const;

export type PaneView = keyof typeof fieldsOf;

/** Maximum number of rows that the API returns in a response. */
const MOST_ROWS = 1_000;

interface TurnsOfAttempt {
  readonly run: string;
  readonly id: string;
  readonly attempt: number;
  /** Number of the first turn. */
  readonly first: number;
  /** Number of the last turn. */
  readonly last: number;
}

export function turnsUrl({ run, id, attempt, first, last }: TurnsOfAttempt, view: PaneView): string {
  const turns = `min_turn=${first}&max_turn=${last}&limit=${Math.min(MOST_ROWS, last - first + 1)}`;
  const where = `run=${encodeURIComponent(run)}&attempt=${attempt}&${turns}`;
  return `/v1/trajectories/${encodeURIComponent(id)}/turns?${where}&fields=${fieldsOf[view].join(',')}`;
}

export interface ShownCall {
  readonly tool: string;
  readonly status: string;
  readonly errorType: string;
  readonly ms: NumberOrNull;
  readonly arguments: string;
  readonly result: string;
  /** Length of the complete result. */
  readonly chars: number;
  readonly isCached: boolean;
  readonly isCut: boolean;
}

/** The tool calls of a turn in order: the first, and the further ones if they were requested. */
export function callsOf(turn: ApiTurn): readonly ShownCall[] {
  const first: ShownCall = {
    ...{ tool: turn.tool, status: turn.tool_status, errorType: turn.tool_error_type, ms: turn.tool_ms, arguments: turn.tool_arguments },
    ...{ result: turn.tool_result, chars: turn.tool_result_chars, isCached: turn.cache_hit, isCut: turn.truncated },
  };
  const further = (turn.more_tools ?? []).map((tool, at): ShownCall => {
    const cell = <T>(values: readonly T[] | undefined, missing: T): T => values?.[at] ?? missing;
    const result = cell(turn.more_tool_results, '');
    const chars = cell(turn.more_tool_result_chars, result.length);
    return {
      ...{ tool, status: cell(turn.more_tool_statuses, ''), errorType: cell(turn.more_tool_error_types, '') },
      ...{ ms: cell(turn.more_tool_ms, null), arguments: cell(turn.more_tool_arguments, '') },
      ...{ result, chars, isCached: false, isCut: result.length < chars },
    };
  });
  return turn.tool === '' ? further : [first, ...further];
}

/** All fields of a turn as JSON, one per line, so that a list of many tokens is a single line. */
export function rawText(turn: object): string {
  const lines = (Object.entries(turn) as [string, unknown][]).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{\n${lines.join(',\n')}\n}`;
}
