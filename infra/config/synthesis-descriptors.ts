// The settings of the language models that make questions; part of the table in descriptors.ts.

const url = /^https?:\/\/\S+$/;

export const synthesisDescriptors = {
  synthesisUrl: {
    env: 'TURNSTREAM_SYNTHESIS_URL',
    kind: 'text',
    fallback: '',
    pattern: url,
    shape: 'an http(s) URL',
    help: 'OpenAI-compatible server of the model that writes questions (`turnstream questions synthesize --writer llm`), with its version: http://127.0.0.1:8000/v1.',
  },
  synthesisModel: {
    env: 'TURNSTREAM_SYNTHESIS_MODEL',
    kind: 'text',
    fallback: '',
    help: 'Name of the model that writes questions, as its server knows it.',
  },
  synthesisApiKey: {
    env: 'TURNSTREAM_SYNTHESIS_API_KEY',
    kind: 'text',
    fallback: '',
    help: 'Key of the server of the model that writes questions; empty sends none.',
    secret: true,
  },
  synthesisCheckUrl: {
    env: 'TURNSTREAM_SYNTHESIS_CHECK_URL',
    kind: 'text',
    fallback: '',
    pattern: url,
    shape: 'an http(s) URL',
    help: 'Server of the model that answers without tools and gives the verdicts of the gates. Unset: the server that writes, with its key.',
  },
  synthesisCheckModel: {
    env: 'TURNSTREAM_SYNTHESIS_CHECK_MODEL',
    kind: 'text',
    fallback: '',
    help: 'Name of the model that checks. Unset: the model that writes.',
  },
  synthesisCheckApiKey: {
    env: 'TURNSTREAM_SYNTHESIS_CHECK_API_KEY',
    kind: 'text',
    fallback: '',
    help: 'Key of TURNSTREAM_SYNTHESIS_CHECK_URL; empty sends none.',
    secret: true,
  },
  synthesisTemperature: {
    env: 'TURNSTREAM_SYNTHESIS_TEMPERATURE',
    kind: 'number',
    min: 0,
    max: 2,
    fallback: 0.8,
    help: 'Temperature of what is written, and of the answers without tools; verdicts are greedy.',
  },
  synthesisMaxTokens: {
    env: 'TURNSTREAM_SYNTHESIS_MAX_TOKENS',
    kind: 'whole',
    min: 16,
    max: 1_000_000,
    fallback: 8_192,
    help: 'Tokens of one reply of either model, thoughts included.',
  },
  synthesisConcurrency: {
    env: 'TURNSTREAM_SYNTHESIS_CONCURRENCY',
    kind: 'whole',
    min: 1,
    max: 10_000,
    fallback: 32,
    help: 'Requests to each of the two models at once.',
  },
} as const;
