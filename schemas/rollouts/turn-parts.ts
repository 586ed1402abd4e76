// Parts of the description of a turn in turn-fields.ts: what its fields share, and two fields with many fields of their own.

export const attempt = { from: 'attempt' } as const;
const log = { kind: 'log' } as const;
export const inRow = { rest: 'row' } as const;
export const onRequest = { rest: 'fields' } as const;
export const hidden = { rest: 'none' } as const;
export const text = { kind: 'text' } as const;
export const whole = { kind: 'whole' } as const;
export const number = { kind: 'number' } as const;
export const sparse = { sparse: true } as const;
export const figure = { kind: 'number', missing: 0, rest: 'row' } as const;

export const decision = {
  cut: 'decision',
  inside: {
    features: log,
    candidates: {
      column: 'decision_candidates',
      ...figure,
      ...whole,
      about: 'Candidate actions of the built-in policy; 0 for every other policy',
    },
    width: { column: 'decision_width', ...figure, ...whole, ...hidden, about: 'Features of each candidate; 0 without a decision' },
    chosen: {
      column: 'decision_chosen',
      ...figure,
      ...whole,
      missing: -1,
      about: 'Index of the candidate that was chosen, from 0; -1 without a decision',
    },
    logprob: { column: 'decision_logprob', ...figure, about: 'Log-probability of the choice, nats' },
    entropy: { column: 'decision_entropy', ...figure, about: 'Entropy of the distribution over candidates, nats' },
  },
} as const;

/** Tool calls of a turn after the first. */
export const moreCalls = {
  ...sparse,
  cut: 'calls',
  each: {
    tool: { column: 'more_tools', kind: 'texts', ...onRequest, about: 'Tools that the turn called after the first call, in order' },
    call_id: { column: 'more_call_ids', kind: 'texts', ...onRequest, about: 'Ids of the further tool calls' },
    arguments: { column: 'more_tool_arguments', kind: 'texts', ...onRequest, about: 'Arguments of the further tool calls, JSON' },
    status: {
      column: 'more_tool_statuses',
      kind: 'texts',
      ...onRequest,
      about: 'ok, error, timeout, or refused, for each further tool call',
    },
    error_type: {
      column: 'more_tool_error_types',
      kind: 'texts',
      ...onRequest,
      about: 'Kind of failure of each further tool call; empty if ok',
    },
    started_at: log,
    latency_ms: { column: 'more_tool_ms', kind: 'numbers', ...onRequest, about: 'Latency of each further tool call, ms' },
    result: { column: 'more_tool_results', kind: 'texts', ...onRequest, about: 'Results of the further tool calls' },
    result_chars: {
      column: 'more_tool_result_chars',
      kind: 'wholes',
      ...onRequest,
      about: 'Lengths of the complete results, characters',
    },
    result_sha256: {
      column: 'more_tool_result_sha256s',
      kind: 'texts',
      ...onRequest,
      about: 'SHA-256 of the complete results, hexadecimal',
    },
  },
} as const;
