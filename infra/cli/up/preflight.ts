// Checks made before anything is started or written, and reported together.
import { isPlatformError, messageOf, PlatformError, type ErrorCode } from '../../../streams/core/errors.ts';
import { runFinished } from '../../../consumers/trainer/run-end.ts';
import type { Config } from '../../config/descriptors.ts';
import { assertJava, systemToolchain, type Toolchain } from '../../kafka/broker/local-toolchain.ts';
import { assertAnswering } from '../../app/open/answering.ts';
import type { FleetOptions } from '../../app/fleet/fleet.ts';
import { finishedSteps } from '../../app/roles/trainer/run-ends.ts';
import { assertDataDir } from '../../lifecycle/data-dir.ts';
import { portIsFree } from '../../lifecycle/net.ts';

type PreflightOptions = Pick<FleetOptions, 'config' | 'training' | 'apiPortFixed'>;

/** Throws with every problem that a start with this configuration would hit. */
export async function preflight(planned: PreflightOptions, toolchain: Toolchain = systemToolchain): Promise<void> {
  assertNotFinished(planned);
  const { config } = planned;
  const checks = [
    dataDirectory(config),
    ...(planned.apiPortFixed ? [apiPort(config)] : []),
    assertAnswering(config, { kafka: true, store: true }),
    ...(config.clickhouseUrl === '' ? [storePort(config)] : []),
    ...(config.kafkaBrokers.length === 0 ? [assertJava(toolchain)] : []),
  ];
  const results = await Promise.allSettled(checks);
  const problems = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const [first] = problems;
  if (problems.length === 1) throw first;
  if (problems.length > 1) throw new PlatformError(codeOf(first), `starting turnstream:\n- ${problems.map(messageOf).join('\n- ')}`);
}

const codeOf = (error: unknown): ErrorCode => (isPlatformError(error) ? error.code : 'INTERNAL');

/** Checks only what the data directory records; the trainer checks the ledger. */
function assertNotFinished({ config, training }: PreflightOptions): void {
  if (training === undefined) return;
  const made = finishedSteps(config, training.run);
  if (made !== undefined && training.steps <= made) throw runFinished(training.run, made);
}

async function dataDirectory({ dataDir }: Config): Promise<void> {
  assertDataDir(dataDir);
}

async function apiPort({ apiHost, apiPort: port }: Config): Promise<void> {
  if (port === 0 || (await portIsFree(apiHost, port))) return;
  throw new PlatformError(
    'PORT_IN_USE',
    `listening on ${apiHost}:${port} for the API: another program has the port; stop it, or set TURNSTREAM_API_PORT (0 chooses a free one)`,
  );
}

async function storePort({ storePort: port }: Config): Promise<void> {
  if (port === 0 || (await portIsFree('127.0.0.1', port))) return;
  throw new PlatformError(
    'PORT_IN_USE',
    `listening on 127.0.0.1:${port} for the store: another program has the port; stop it, or set TURNSTREAM_STORE_PORT (0 chooses a free one)`,
  );
}
