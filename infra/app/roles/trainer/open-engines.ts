// The inference engines of a run, from the configuration.
import { systemClock } from '../../../lifecycle/clock.ts';
import { createEngine } from '../../../llm/engines/configured.ts';
import type { LogConnection } from '../../open/connections.ts';
import type { Notices } from '../notices.ts';
import type { RoleContext } from '../role.ts';
import { weightsElsewhere } from '../weights-elsewhere.ts';
import { updateEngines } from './engine-updates.ts';

interface OpenEngines {
  /** Waits for the engines to take the last version. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

const FINISH_MS = 60_000;

/** Gives each version of the run to the engines of the configuration. */
export function openEngines(
  { config, logger, metrics }: RoleContext,
  log: LogConnection,
  { run, tell }: { readonly run: string; readonly tell: Notices['tell'] },
): OpenEngines {
  const terms = { apiKey: config.engineKey, timeoutMs: config.engineTimeoutMs };
  const weights = weightsElsewhere(config, run);
  const updates = updateEngines({
    ...{ runId: run, log: log.kafka.reader(), reader: log.events, index: log.kafka.runs },
    engines: config.engines.map((name) => createEngine(name, terms)),
    check: (named, signal) => weights.check(named, signal),
    ...{ clock: systemClock, logger, metrics, tell },
  });
  return {
    finish: () => updates.finish(FINISH_MS),
    async close() {
      await updates.close();
      await weights.close();
    },
  };
}
