// The weights that a run of a language model begins with, from the configuration: version 0, with a hash like every other.
import { PlatformError } from '../../../../streams/core/errors.ts';
import type { WeightsOfCommit } from '../../../../streams/leases/coordinator.ts';
import type { Config } from '../../../config/descriptors.ts';
import { weightsElsewhere } from '../weights-elsewhere.ts';

/** Reads them where that is possible. Throws WEIGHTS_MISMATCH when they do not have the configured hash. */
export async function firstWeights(config: Config, run: string): Promise<WeightsOfCommit> {
  const { initialPolicyUri: uri, initialPolicySha256: sha256, initialPolicyFormat: format } = config;
  const weights = weightsElsewhere(config, run);
  try {
    if (!uri.startsWith('file:')) {
      await weights.check({ uri, sha256, manifest: [] }, AbortSignal.timeout(config.engineTimeoutMs));
      return { uri, sha256, format };
    }
    const found = await weights.describe(uri);
    if (sha256 === '' || sha256 === found.sha256) return { ...found, format };
    throw new PlatformError(
      'WEIGHTS_MISMATCH',
      `reading the first weights of run ${run} from ${uri}: sha256 ${found.sha256}, configured as ${sha256}`,
    );
  } finally {
    await weights.close();
  }
}
