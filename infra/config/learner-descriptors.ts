// The built-in learner; part of the table in descriptors.ts.

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
    help: 'Entropy bonus in the loss, per nat; keeps the samples of a group diverse.',
  },
  entropyTarget: {
    env: 'TURNSTREAM_ENTROPY_TARGET',
    kind: 'number',
    min: 0,
    max: 10,
    fallback: 0,
    help: 'Entropy, in nats per decision, below which the bonus grows in proportion to target / entropy, up to tenfold; 0 turns this off. For questions that few samples answer, so that the policy does not settle before it has found the way.',
  },
} as const;
