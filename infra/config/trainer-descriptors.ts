// Who trains, the built-in learner or somebody else's trainer over HTTP, and for which attached rewards it waits; part of the table in
// descriptors.ts.
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
    help: 'External trainer: how long a leased batch is its own. Each extension adds as much again. After that the batch is released and leased anew.',
  },
  prefetch: {
    env: 'TURNSTREAM_PREFETCH',
    kind: 'whole',
    min: 0,
    max: 2,
    fallback: 1,
    help: 'External trainer: batches that it may lease ahead of the one that it trains on. Each is accounted at the version that it will be trained from.',
  },
  trainerHost: {
    env: 'TURNSTREAM_TRAINER_HOST',
    kind: 'text',
    fallback: '127.0.0.1',
    help: 'External trainer: address that the trainer role listens on, and that the API finds it at. Any address except loopback requires TURNSTREAM_API_KEYS.',
  },
  trainerPort: {
    env: 'TURNSTREAM_TRAINER_PORT',
    kind: 'whole',
    min: 0,
    max: 65_535,
    fallback: 0,
    help: 'External trainer: port of the trainer role; 0 picks a free one. The API finds it through the log, and passes on what it is sent.',
  },
  rewardNames: {
    env: 'TURNSTREAM_REWARD_NAMES',
    kind: 'list',
    pattern: rewardNamePattern,
    shape: 'names of up to 64 letters, digits, dots, hyphens, or underscores',
    fallback: [],
    help: 'Names of rewards that are attached after the fact, separated by commas. Each attempt that counts waits until it has one of each name, and is trained on the recorded reward plus all attached ones of these names. Others are stored, and change nothing.',
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
