// The row of a turn (second version of its schema), mapped by hand: the derived rows and columns are compared with it.
import type { GenerationTiming, PolicySpan, ToolTiming, TurnRecorded } from '../../schemas/generated/events.ts';
import type { Row } from '../../streams/core/ports.ts';
import { float, floats, type Origin } from '../../consumers/warehouse/rows/cells.ts';

const UNKNOWN = -1;

interface SpanVersions {
  readonly min: number;
  readonly max: number;
  readonly unknownTokens: number;
}

/** Oldest and newest known version of the spans, -1 when none is known. */
function versionsOf(spans: readonly PolicySpan[]): SpanVersions {
  let min = UNKNOWN;
  let max = UNKNOWN;
  let unknownTokens = 0;
  for (const { version, tokens } of spans) {
    if (version < 0) {
      unknownTokens += tokens;
      continue;
    }
    if (min === UNKNOWN || version < min) min = version;
    if (version > max) max = version;
  }
  return { min, max, unknownTokens };
}

const NO_GENERATION: GenerationTiming = {
  queue_ms: 0,
  retries: 0,
  retry_ms: 0,
  server_ms: UNKNOWN,
  first_token_ms: UNKNOWN,
  stop_text: '',
};
const NO_CALL: ToolTiming = { queue_ms: 0, retries: 0, retry_ms: 0, server_ms: UNKNOWN };

const generationCells = ({ queue_ms, retries, retry_ms, server_ms, first_token_ms, stop_text }: GenerationTiming) => ({
  generation_queue_ms: float(queue_ms),
  generation_retries: retries,
  generation_retry_ms: float(retry_ms),
  generation_server_ms: float(server_ms),
  first_token_ms: float(first_token_ms),
  stop_text,
});

const toolCells = ({ queue_ms, retries, retry_ms, server_ms }: ToolTiming) => ({
  tool_queue_ms: float(queue_ms),
  tool_retries: retries,
  tool_retry_ms: float(retry_ms),
  tool_server_ms: float(server_ms),
});

export function rowByHand(event: TurnRecorded, origin: Origin): Row {
  const versions = versionsOf(event.policy_spans);
  const { decision } = event;
  return {
    run_id: event.run_id,
    group_id: event.group_id,
    trajectory_id: event.trajectory_id,
    attempt: event.attempt,
    turn: event.turn,
    sequence: event.sequence,
    purpose: event.purpose,
    worker_id: event.worker_id,
    question_id: event.question_id,
    policy_version_min: versions.min,
    policy_version_max: versions.max,
    policy_span_versions: event.policy_spans.map((span) => span.version),
    policy_span_tokens: event.policy_spans.map((span) => span.tokens),
    prompt_tokens: event.prompt_tokens,
    completion_tokens: event.completion_tokens,
    unknown_tokens: versions.unknownTokens,
    generation_ms: float(event.generation_ms),
    finish_reason: event.finish_reason,
    text: event.text,
    token_ids: event.token_ids,
    logprobs: floats(event.logprobs),
    tool: event.tool,
    call_id: event.call_id,
    tool_status: event.status,
    tool_error_type: event.error_type,
    tool_started_at: event.started_at,
    tool_ms: float(event.latency_ms),
    tool_arguments: event.arguments,
    tool_result: event.result,
    tool_result_chars: event.result_chars,
    tool_result_sha256: event.result_sha256,
    tool_item_urls: event.items.map((item) => item.url),
    tool_item_titles: event.items.map((item) => item.title),
    truncated: event.truncated,
    cache_hit: event.cache_hit,
    reward: float(event.reward),
    decision_candidates: decision === null ? 0 : decision.candidates,
    decision_width: decision === null ? 0 : decision.width,
    decision_chosen: decision === null ? -1 : decision.chosen,
    decision_logprob: decision === null ? 0 : float(decision.logprob),
    decision_entropy: decision === null ? 0 : float(decision.entropy),
    ...generationCells(event.generation_timing ?? NO_GENERATION),
    ...toolCells(event.tool_timing ?? NO_CALL),
    event_id: event.event_id,
    occurred_at: event.occurred_at,
    producer: event.producer,
    ...origin,
  };
}
