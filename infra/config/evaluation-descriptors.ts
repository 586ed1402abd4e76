// How runs are evaluated on held-out questions; part of the table in descriptors.ts.

export const evaluationDescriptors = {
  evalSamples: {
    env: 'TURNSTREAM_EVAL_SAMPLES',
    kind: 'whole',
    min: 1,
    max: 64,
    fallback: 4,
    help: 'Answers to each question of an evaluation unless --n says otherwise, the k of Avg@k; 1 is decoded greedily.',
  },
  evalQuestions: {
    env: 'TURNSTREAM_EVAL_QUESTIONS',
    kind: 'whole',
    min: 1,
    max: 1_000_000,
    fallback: 120,
    help: 'Questions of a set in an evaluation unless --questions says otherwise, the same ones each time.',
  },
  evalEvery: {
    env: 'TURNSTREAM_EVAL_EVERY',
    kind: 'whole',
    min: 0,
    max: 1_000_000,
    fallback: 50,
    help: 'Steps between evaluations of a run under `turnstream up`, beside those before and after it; 0 makes none between.',
  },
} as const;
