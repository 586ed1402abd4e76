// Settings of evaluations on held-out questions; part of the table in descriptors.ts.

export const evaluationDescriptors = {
  evalSamples: {
    env: 'TURNSTREAM_EVAL_SAMPLES',
    kind: 'whole',
    min: 1,
    max: 64,
    fallback: 4,
    help: 'Answers per question in an evaluation (the k of Avg@k), unless --n is given; 1 decodes greedily.',
  },
  evalQuestions: {
    env: 'TURNSTREAM_EVAL_QUESTIONS',
    kind: 'whole',
    min: 1,
    max: 1_000_000,
    fallback: 120,
    help: 'Questions of a set in an evaluation, unless --questions is given; always the same ones.',
  },
  evalEvery: {
    env: 'TURNSTREAM_EVAL_EVERY',
    kind: 'whole',
    min: 0,
    max: 1_000_000,
    fallback: 50,
    help: 'Steps between evaluations under `turnstream up`, in addition to those before and after the run; 0 = only those.',
  },
} as const;
