// Options of the built-in learner, from the configuration.
import { join } from 'node:path';
import type { Config } from '../../../config/descriptors.ts';
import type { LearnerOptions } from '../../../tfjs/learner.ts';

const MIB = 2 ** 20;

export const learningOf = (config: Config): Pick<LearnerOptions, 'algorithm' | 'learningRate' | 'backend' | 'hyper' | 'replay'> => ({
  algorithm: config.algorithm,
  learningRate: config.learningRate,
  backend: config.backend,
  hyper: {
    entropyBonus: config.entropyBonus,
    replayCapacity: config.replayTrajectories,
    replayBytes: config.replayMb * MIB,
    replaySample: config.replayBatch,
    replaySteps: config.replayRounds,
  },
  replay: { directory: join(config.dataDir, 'replay-buffer'), memoryBytes: config.replayMemoryMb * MIB },
});
