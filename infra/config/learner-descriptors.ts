// Settings of the built-in learner; part of the table in descriptors.ts.

export const learnerDescriptors = {
  backend: {
    env: 'TURNSTREAM_BACKEND',
    kind: 'choice',
    choices: ['auto', 'tfjs-node-gpu', 'tfjs-node', 'wasm', 'cpu'],
    fallback: 'auto',
    help: 'Tensor backend; auto uses the first of tfjs-node-gpu, tfjs-node, wasm, and cpu that loads.',
  },
  algorithm: { env: 'TURNSTREAM_ALGORITHM', kind: 'choice', choices: ['grpo', 'reinforce'], fallback: 'grpo', help: 'Learning algorithm.' },
  learningRate: {
    env: 'TURNSTREAM_LEARNING_RATE',
    kind: 'number',
    min: 0,
    max: 1,
    fallback: 0,
    help: 'Learning rate of the built-in learner; 0 uses the default of the algorithm: 0.003 for grpo, 0.00001 for reinforce.',
  },
  entropyBonus: {
    env: 'TURNSTREAM_ENTROPY_BONUS',
    kind: 'number',
    min: 0,
    max: 10,
    fallback: 0.2,
    help: 'Weight of the entropy bonus in the loss (entropy in nats); keeps the samples of a group diverse.',
  },
} as const;
