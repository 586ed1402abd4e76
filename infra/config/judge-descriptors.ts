// The settings of the language model that judges answers, of evaluations and for the reward; part of the table in descriptors.ts.

export const judgeDescriptors = {
  rewardJudge: {
    env: 'TURNSTREAM_REWARD_JUDGE',
    kind: 'number',
    min: 0,
    max: 1,
    fallback: 0,
    help: 'Share of the verdict of a language model in the score of a training answer: 0.5 takes the mean of TURNSTREAM_REWARD and 1 for correct, 0 for incorrect; 1 takes the verdict alone. Multiplied by the format reward, as ever. 0 asks nobody.',
  },
  judgeUrl: {
    env: 'TURNSTREAM_JUDGE_URL',
    kind: 'text',
    fallback: '',
    pattern: /^https?:\/\/\S+$/,
    shape: 'an http(s) URL',
    help: 'OpenAI-compatible server of the model that judges answers (`turnstream evaluate --judge`, TURNSTREAM_REWARD_JUDGE), with its version: http://127.0.0.1:8001/v1.',
  },
  judgeModel: { env: 'TURNSTREAM_JUDGE_MODEL', kind: 'text', fallback: '', help: 'Name of the model that judges, as its server knows it.' },
  judgeApiKey: {
    env: 'TURNSTREAM_JUDGE_API_KEY',
    kind: 'text',
    fallback: '',
    help: 'Key of the server of the judge; empty sends none.',
    secret: true,
  },
  judgeConcurrency: {
    env: 'TURNSTREAM_JUDGE_CONCURRENCY',
    kind: 'whole',
    min: 1,
    max: 10_000,
    fallback: 16,
    help: 'Answers that are judged at once.',
  },
  judgeMaxTokens: {
    env: 'TURNSTREAM_JUDGE_MAX_TOKENS',
    kind: 'whole',
    min: 16,
    max: 1_000_000,
    fallback: 1_024,
    help: 'Tokens that the judge may write about one answer.',
  },
  judgeTries: {
    env: 'TURNSTREAM_JUDGE_TRIES',
    kind: 'whole',
    min: 1,
    max: 20,
    fallback: 3,
    help: 'How often an answer is put to the judge until it gives a verdict; then the answer is marked invalid, and an attempt that needs the verdict for its reward has failed.',
  },
} as const;
