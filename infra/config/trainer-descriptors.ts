// The built-in learner, or an external trainer over HTTP, and the attached rewards that it waits for; part of the table in descriptors.ts.
import { rewardNamePattern } from '../../streams/reward/attached.ts';

export const trainerDescriptors = {
  trainer: {
    env: 'TURNSTREAM_TRAINER',
    kind: 'choice',
    choices: ['built-in', 'external'],
    fallback: 'built-in',
    help: 'built-in: the trainer role trains the ranker; runs of any other policy are collected. external: your own trainer leases batches from the trainer role, trains on them, and commits its versions over HTTP.',
  },
  leaseMs: {
    env: 'TURNSTREAM_LEASE_MS',
    kind: 'whole',
    min: 100,
    max: 86_400_000,
    fallback: 300_000,
    help: 'External trainer: lease duration. Each extension adds the same duration. When a lease expires, its batch is released and can be leased again.',
  },
  prefetch: {
    env: 'TURNSTREAM_PREFETCH',
    kind: 'whole',
    min: 0,
    max: 2,
    fallback: 1,
    help: 'External trainer: number of batches that it may lease ahead of the one that it trains on. The staleness of each is measured from the version that the update on it will start from.',
  },
  trainerHost: {
    env: 'TURNSTREAM_TRAINER_HOST',
    kind: 'text',
    fallback: '127.0.0.1',
    help: 'External trainer: address where the trainer role listens and the API reaches it. Any address except loopback requires TURNSTREAM_API_KEYS.',
  },
  trainerPort: {
    env: 'TURNSTREAM_TRAINER_PORT',
    kind: 'whole',
    min: 0,
    max: 65_535,
    fallback: 0,
    help: 'External trainer: port of the trainer role; 0 picks a free one. The API finds it through the log and forwards calls to it.',
  },
  rewardNames: {
    env: 'TURNSTREAM_REWARD_NAMES',
    kind: 'list',
    pattern: rewardNamePattern,
    shape: 'names of up to 64 letters, digits, dots, hyphens, or underscores',
    fallback: [],
    help: 'Names of attached rewards that the run waits for, comma separated. Each attempt that counts waits until it has one for each name, and its reward is the recorded one plus all attached ones with these names. Rewards with other names are stored, and have no effect.',
  },
  rewardTimeoutMs: {
    env: 'TURNSTREAM_REWARD_TIMEOUT_MS',
    kind: 'whole',
    min: 100,
    max: 604_800_000,
    fallback: 600_000,
    help: 'TURNSTREAM_REWARD_NAMES: how long a finished attempt waits for its rewards. After that its trajectory is discarded as incomplete.',
  },
} as const;
