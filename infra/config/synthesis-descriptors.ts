// Settings of the language models that generate questions; part of the table in descriptors.ts.

const url = /^https?:\/\/\S+$/;

export const synthesisDescriptors = {
  synthesisUrl: {
    env: 'TURNSTREAM_SYNTHESIS_URL',
    kind: 'text',
    fallback: '',
    pattern: url,
    shape: 'an http(s) URL',
    help: 'Base URL of the OpenAI-compatible server of the model that writes questions (`turnstream questions synthesize --writer llm`), such as http://127.0.0.1:8000/v1.',
  },
  synthesisModel: {
    env: 'TURNSTREAM_SYNTHESIS_MODEL',
    kind: 'text',
    fallback: '',
    help: 'Name of the model that writes questions.',
  },
  synthesisApiKey: {
    env: 'TURNSTREAM_SYNTHESIS_API_KEY',
    kind: 'text',
    fallback: '',
    help: 'API key of TURNSTREAM_SYNTHESIS_URL; empty sends none.',
    secret: true,
  },
  synthesisCheckUrl: {
    env: 'TURNSTREAM_SYNTHESIS_CHECK_URL',
    kind: 'text',
    fallback: '',
    pattern: url,
    shape: 'an http(s) URL',
    help: 'Base URL of the server of the model that checks questions: it answers them without tools, and judges them at the quality gates. Unset: TURNSTREAM_SYNTHESIS_URL, with its key.',
  },
  synthesisCheckModel: {
    env: 'TURNSTREAM_SYNTHESIS_CHECK_MODEL',
    kind: 'text',
    fallback: '',
    help: 'Name of the model that checks. Unset: the model that writes questions.',
  },
  synthesisCheckApiKey: {
    env: 'TURNSTREAM_SYNTHESIS_CHECK_API_KEY',
    kind: 'text',
    fallback: '',
    help: 'API key of TURNSTREAM_SYNTHESIS_CHECK_URL; empty sends none.',
    secret: true,
  },
  synthesisTemperature: {
    env: 'TURNSTREAM_SYNTHESIS_TEMPERATURE',
    kind: 'number',
    min: 0,
    max: 2,
    fallback: 0.8,
    help: 'Sampling temperature for writing and for answers without tools; verdicts are greedy.',
  },
  synthesisMaxTokens: {
    env: 'TURNSTREAM_SYNTHESIS_MAX_TOKENS',
    kind: 'whole',
    min: 16,
    max: 1_000_000,
    fallback: 8_192,
    help: 'Maximum tokens per reply of either model, including reasoning.',
  },
  synthesisConcurrency: {
    env: 'TURNSTREAM_SYNTHESIS_CONCURRENCY',
    kind: 'whole',
    min: 1,
    max: 10_000,
    fallback: 32,
    help: 'Maximum concurrent requests to each of the two models.',
  },
} as const;
