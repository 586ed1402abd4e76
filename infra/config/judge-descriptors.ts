// Settings of the language model that judges answers, for evaluations and for the reward; part of the table in descriptors.ts.

export const judgeDescriptors = {
  rewardJudge: {
    env: 'TURNSTREAM_REWARD_JUDGE',
    kind: 'number',
    min: 0,
    max: 1,
    fallback: 0,
    help: 'Share of the verdict of a language model in the score of a training answer: 0.5 takes the mean of TURNSTREAM_REWARD and 1 for correct, 0 for incorrect; 1 takes the verdict alone. The result is multiplied by the format reward. 0 disables the judge.',
  },
  judgeUrl: {
    env: 'TURNSTREAM_JUDGE_URL',
    kind: 'text',
    fallback: '',
    pattern: /^https?:\/\/\S+$/,
    shape: 'an http(s) URL',
    help: 'Base URL of the OpenAI-compatible server of the judge (`turnstream evaluate --judge`, TURNSTREAM_REWARD_JUDGE), such as http://127.0.0.1:8001/v1.',
  },
  judgeModel: { env: 'TURNSTREAM_JUDGE_MODEL', kind: 'text', fallback: '', help: 'Model name of the judge.' },
  judgeApiKey: {
    env: 'TURNSTREAM_JUDGE_API_KEY',
    kind: 'text',
    fallback: '',
    help: 'API key of the judge server; empty sends none.',
    secret: true,
  },
  judgeConcurrency: {
    env: 'TURNSTREAM_JUDGE_CONCURRENCY',
    kind: 'whole',
    min: 1,
    max: 10_000,
    fallback: 16,
    help: 'Maximum concurrent requests to the judge.',
  },
  judgeMaxTokens: {
    env: 'TURNSTREAM_JUDGE_MAX_TOKENS',
    kind: 'whole',
    min: 16,
    max: 1_000_000,
    fallback: 1_024,
    help: 'Maximum tokens that the judge generates per answer.',
  },
  judgeTries: {
    env: 'TURNSTREAM_JUDGE_TRIES',
    kind: 'whole',
    min: 1,
    max: 20,
    fallback: 3,
    help: 'How often the judge is asked for a verdict on an answer before the answer counts as invalid. An attempt whose reward needs the verdict fails without one.',
  },
} as const;
