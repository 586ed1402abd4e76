// The only description of a turn: for each field of TurnRecorded, where its value comes from, whether it is truncated when a record is too
// large, and its columns in `turns` with kind, unit, and where REST and the outline return them. Rows, columns of a block, size bounds,
// comments, and REST fields are derived from it. Defaults are those of the schema.
import { newestVersion, oldestVersion, unknownTokens, type TurnFields } from './turn-spec.ts';

const attempt = { from: 'attempt' } as const;
const log = { kind: 'log' } as const;
const inRow = { rest: 'row' } as const;
const onRequest = { rest: 'fields' } as const;
const hidden = { rest: 'none' } as const;
const text = { kind: 'text' } as const;
const whole = { kind: 'whole' } as const;
const number = { kind: 'number' } as const;
const sparse = { sparse: true } as const;
const figure = { kind: 'number', missing: 0, rest: 'row' } as const;

export const turnFields = {
  run_id: { ...attempt, ...text, ...inRow, about: 'Name of the run; empty for events that belong to no run' },
  group_id: { ...attempt, ...text, ...inRow, about: 'Id of the group: the trajectories that answer one question together' },
  trajectory_id: { ...attempt, ...text, ...inRow, about: 'Id of the trajectory: <group_id>.<sample>' },
  attempt: { ...attempt, ...whole, ...inRow, about: 'Number of the attempt at the trajectory, from 0' },
  turn: { ...whole, ...inRow, about: 'Number of the turn within its attempt, from 0', outline: { as: 'turn' } },
  sequence: { ...attempt, ...whole, ...hidden, about: 'Position of the event within its attempt, from 0' },
  purpose: { ...attempt, ...text, ...inRow, about: 'Purpose: train, eval, or external' },
  worker_id: {
    ...attempt,
    ...text,
    ...inRow,
    about: 'Id of the worker that ran the attempt',
    outline: { as: 'worker', list: 'workers' },
  },
  question_id: { ...attempt, ...text, ...hidden, about: 'Id of the question' },

  policy_spans: {
    over: {
      policy_version_min: {
        ...whole,
        ...inRow,
        about: 'Oldest known policy version behind a token of the turn; -1 if none is known',
        of: oldestVersion,
        outline: { as: 'version_min' },
      },
      policy_version_max: {
        ...whole,
        ...inRow,
        about: 'Newest known policy version behind a token of the turn; -1 if none is known',
        of: newestVersion,
        outline: { as: 'version_max' },
      },
      unknown_tokens: { ...whole, ...inRow, about: 'Tokens of the turn whose policy version is unknown', of: unknownTokens },
    },
    each: {
      version: {
        column: 'policy_span_versions',
        kind: 'wholes',
        ...inRow,
        about: 'Policy versions behind the completion in the order of its tokens; -1 if unknown',
      },
      tokens: { column: 'policy_span_tokens', kind: 'wholes', ...inRow, about: 'Tokens of each entry of policy_span_versions' },
    },
  },
  prompt_tokens: { ...whole, ...inRow, about: 'Tokens of the prompt of the turn', outline: { as: 'prompt_tokens' } },
  completion_tokens: {
    ...whole,
    ...inRow,
    about: 'Tokens that the policy generated in the turn',
    outline: { as: 'completion_tokens' },
  },
  generation_ms: {
    ...number,
    ...inRow,
    about: 'Time of the generation, including queueing, retries, and backoff, ms',
    outline: { as: 'generation_ms', digits: 1 },
  },
  generation_timing: {
    ...sparse,
    inside: {
      queue_ms: {
        column: 'generation_queue_ms',
        ...figure,
        about: 'Time that the generation waited for the concurrency limit of the worker, ms',
      },
      retries: { column: 'generation_retries', ...figure, ...whole, about: 'Failed requests before the last one' },
      retry_ms: { column: 'generation_retry_ms', ...figure, about: 'Time of failed requests and backoff, ms' },
      server_ms: {
        column: 'generation_server_ms',
        ...figure,
        missing: -1,
        about: 'Time that the server took for the last request, ms; -1 if there is no server or it is unknown',
      },
      first_token_ms: {
        column: 'first_token_ms',
        ...figure,
        missing: -1,
        about: 'Time from sending the last request to its first token, ms; -1 if unknown',
      },
      stop_text: {
        column: 'stop_text',
        ...text,
        missing: '',
        ...inRow,
        about: 'Stop string that ended the generation, as the server reports it; empty if none or unknown',
      },
    },
  },
  finish_reason: { ...text, cut: 'slug', ...inRow, about: 'Why the generation ended, as the engine reports it' },
  text: {
    ...text,
    cut: 'text',
    ...onRequest,
    about: 'Text that the policy generated',
    head: { column: 'text_head', ...inRow, about: 'First 200 characters of text' },
  },
  token_ids: {
    ...sparse,
    kind: 'wholes',
    cut: 'tokens',
    ...onRequest,
    about: 'Token ids of the completion; empty if the engine reports none',
  },
  logprobs: {
    ...sparse,
    kind: 'numbers',
    cut: 'tokens',
    ...onRequest,
    about: 'Log-probabilities of the completion tokens, nats; empty if the engine reports none',
  },

  tool: {
    ...text,
    ...inRow,
    about: 'Tool that was called: search, access, answer, or another name; empty if none',
    outline: { as: 'tool', list: 'tools' },
  },
  call_id: {
    ...text,
    cut: 'slug',
    ...inRow,
    about: 'Id of the tool call within its trajectory; empty if the turn called no tool',
  },
  status: {
    column: 'tool_status',
    ...text,
    ...inRow,
    about: 'ok, error, timeout, or refused',
    outline: { as: 'status', list: 'statuses' },
  },
  error_type: {
    column: 'tool_error_type',
    ...text,
    cut: 'slug',
    ...inRow,
    about: 'Kind of failure, such as not_found or http_500; empty if ok',
    outline: { as: 'error_type', list: 'error_types' },
  },
  started_at: {
    column: 'tool_started_at',
    kind: 'time',
    ...inRow,
    about: 'Start of the tool call, UTC, microseconds',
  },
  latency_ms: {
    column: 'tool_ms',
    ...number,
    ...inRow,
    about: 'Latency of the tool call, including queueing, retries, and backoff, ms',
    outline: { as: 'tool_ms', digits: 1 },
  },
  tool_timing: {
    ...sparse,
    inside: {
      queue_ms: {
        column: 'tool_queue_ms',
        ...figure,
        about: 'Time that the tool call waited for the concurrency limit of the worker, ms',
      },
      retries: { column: 'tool_retries', ...figure, ...whole, about: 'Failed tries of the tool call before the last one' },
      retry_ms: { column: 'tool_retry_ms', ...figure, about: 'Time of failed tries of the tool call and backoff, ms' },
      server_ms: {
        column: 'tool_server_ms',
        ...figure,
        missing: -1,
        about: 'Time that the service behind the tool took for the last try, ms; -1 if none or unknown',
      },
    },
  },
  arguments: { column: 'tool_arguments', ...text, cut: 'arguments', ...inRow, about: 'Arguments of the tool call, JSON' },
  result: {
    column: 'tool_result',
    ...text,
    cut: 'text',
    ...onRequest,
    about: 'Text that the tool returned, shortened if truncated is true',
    head: { column: 'tool_result_head', ...inRow, about: 'First 200 characters of the result' },
  },
  result_chars: {
    column: 'tool_result_chars',
    ...whole,
    ...inRow,
    about: 'Length of the complete result, characters',
    outline: { as: 'result_chars' },
  },
  result_sha256: {
    column: 'tool_result_sha256',
    ...text,
    ...hidden,
    about: 'SHA-256 of the complete result, hexadecimal; empty if there is none',
  },
  items: {
    cut: 'items',
    each: {
      url: { column: 'tool_item_urls', kind: 'texts', ...inRow, about: 'URLs of the items that the tool returned' },
      title: { column: 'tool_item_titles', kind: 'texts', ...inRow, about: 'Titles of the items in the order of the URLs' },
    },
  },
  truncated: { kind: 'flag', ...inRow, about: 'Whether a text was shortened to fit its record' },
  cache_hit: { kind: 'flag', ...inRow, about: 'Whether the result came from a cache' },
  reward: { ...number, ...inRow, about: 'Reward of this turn alone', outline: { as: 'reward' } },

  decision: {
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
  },

  request_id: { ...sparse, ...text, ...inRow, about: 'Id of the model call, as the engine or its proxy gives it; empty if unknown' },
  branch_parent: {
    ...sparse,
    ...whole,
    ...inRow,
    about: 'Turn of the attempt whose prompt and completion this prompt continues; -1 for a fresh prompt',
  },
  prompt_keep: { ...sparse, ...whole, ...inRow, about: 'Tokens that the prompt keeps of the prompt and completion of its parent' },
  prompt_ids: {
    ...sparse,
    kind: 'wholes',
    cut: 'tokens',
    ...onRequest,
    about: 'Token ids of the prompt after the tokens that it keeps; empty if the engine reports none',
  },
  prompt_sha256: {
    ...sparse,
    ...text,
    ...inRow,
    about: 'SHA-256 of all token ids of the prompt as 32-bit little-endian integers, hexadecimal; empty if unknown',
  },
  loss_mask: {
    ...sparse,
    kind: 'wholes',
    cut: 'tokens',
    ...onRequest,
    about: '1 for each completion token to train on, 0 for the others; empty for all of them',
  },
  logprobs_kind: {
    ...sparse,
    ...text,
    ...inRow,
    about: 'raw: logprobs of the distribution of the model. processed: after temperature and truncation. Empty: unknown',
  },
  sampling: { ...sparse, ...text, ...onRequest, about: 'Sampling parameters as applied, JSON; empty if unknown' },
  model: { ...sparse, ...text, cut: 'slug', ...inRow, about: 'Name of the model, as the engine reports it; empty if unknown' },
  tokenizer_sha256: { ...sparse, ...text, ...onRequest, about: 'SHA-256 of the tokenizer, hexadecimal; empty if unknown' },
  engine: { ...sparse, ...text, cut: 'slug', ...inRow, about: 'Inference engine and its version; empty if unknown' },
  images: {
    ...sparse,
    each: {
      sha256: { column: 'image_sha256s', kind: 'texts', ...onRequest, about: 'SHA-256 of each image of the prompt, hexadecimal' },
      mime: { column: 'image_mimes', kind: 'texts', ...onRequest, about: 'Media type of each image' },
      bytes: { column: 'image_bytes', kind: 'wholes', ...onRequest, about: 'Size of each image, bytes' },
      uri: { column: 'image_uris', kind: 'texts', ...onRequest, about: 'Where each image is stored' },
    },
  },
  extras: {
    ...sparse,
    each: {
      kind: { column: 'extra_kinds', kind: 'texts', ...onRequest, about: 'Kind of each reference to large data, such as routed_experts' },
      uri: { column: 'extra_uris', kind: 'texts', ...onRequest, about: 'Where the data of each reference is stored' },
      sha256: { column: 'extra_sha256s', kind: 'texts', ...onRequest, about: 'SHA-256 of the data of each reference, hexadecimal' },
      shape: { column: 'extra_shapes', kind: 'texts', ...onRequest, about: 'Dimensions of the data of each reference, JSON' },
      dtype: { column: 'extra_dtypes', kind: 'texts', ...onRequest, about: 'Element type of the data of each reference' },
    },
  },
  more_calls: {
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
  },
  token_ends: {
    ...sparse,
    kind: 'wholes',
    cut: 'tokens',
    ...onRequest,
    about: 'End of each completion token within the text, UTF-8 bytes; empty if unknown',
  },

  event_id: { ...attempt, ...text, ...hidden, about: 'Id of the event; the same id twice is the same event' },
  occurred_at: { ...attempt, kind: 'time', ...inRow, about: 'Time of the event by the clock of its producer, UTC, microseconds' },
  producer: { ...attempt, ...text, ...hidden, about: 'Role and id of the process that wrote the event' },
} as const satisfies TurnFields;
