// Reads weights from the URIs of published policies, within the limits of the configuration.
import { join } from 'node:path';
import type { Config } from '../../config/descriptors.ts';
import { createWeightsReader, type WeightsReader } from '../../web/weights-reader.ts';

const MB = 2 ** 20;
const TIMEOUT_MS = 60_000;

/** The caller must close it. Downloads are kept in a folder of the run. */
export const weightsElsewhere = ({ dataDir, weightsHosts, weightsMaxMb }: Config, run: string): WeightsReader =>
  createWeightsReader({
    ...{ allowed: weightsHosts, maxBytes: weightsMaxMb * MB, timeoutMs: TIMEOUT_MS },
    folder: join(dataDir, 'engine-weights', run),
  });
