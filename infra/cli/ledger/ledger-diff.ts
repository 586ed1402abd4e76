// Compares the ledgers of two runs for the command line. Each ledger is read once for its outline; the first step that differs is read
// again for its values.
import { diffLedgers, diffStepValues, type LedgerDiff, type StepDifference } from '../../../streams/ledger/diff.ts';
import { createOutliner, type Outliner, type StepOutline, type StepValue } from '../../../streams/ledger/outline.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { RunSource } from '../../../streams/core/read-log.ts';
import { entriesOf } from '../../../streams/ledger/read-ledger.ts';
import type { Config } from '../../config/descriptors.ts';
import { withLog } from '../../app/open/with-log.ts';

export interface RunsDiff {
  readonly a: string;
  readonly b: string;
  readonly diff: LedgerDiff;
  /** Differences within the first step that differs. */
  readonly stepDifferences: readonly StepDifference[];
}

/** Compares run `a` with run `b`; throws NOT_FOUND when one of them does not exist. */
export function diffRuns(config: Config, runs: { readonly a: string; readonly b: string }, logger: Logger): Promise<RunsDiff> {
  return withLog({ config, logger, purpose: 'ledger diff' }, async ({ kafka, events }) => {
    const log = kafka.reader();
    const [a, b] = [await outlineOf({ runId: runs.a, log, events }), await outlineOf({ runId: runs.b, log, events })];
    const diff = diffLedgers(a.outliner.outline(), b.outliner.outline());
    const { firstStep } = diff;
    const stepDifferences = firstStep === undefined ? [] : diffStepValues(await valuesOf(a, firstStep.a), await valuesOf(b, firstStep.b));
    return { ...runs, diff, stepDifferences };
  });
}

interface Outlined {
  readonly source: RunSource;
  readonly outliner: Outliner;
}

async function outlineOf(source: RunSource): Promise<Outlined> {
  const outliner = createOutliner();
  let entries = 0;
  for await (const { entry, partition, offset } of entriesOf(source)) {
    entries += 1;
    outliner.entry(entry, { partition, offset });
  }
  if (entries > 0) return { source, outliner };
  throw new PlatformError('NOT_FOUND', `comparing the ledger of ${source.runId}: there is no such run; \`turnstream status\` lists them`);
}

async function valuesOf({ source, outliner }: Outlined, { partition, offset, step }: StepOutline): Promise<readonly StepValue[]> {
  for await (const { entry } of entriesOf(source, new Map([[partition, offset]]))) {
    if (entry.type === 'StepCompleted' && entry.event.step === step) return outliner.valuesOf(entry.event);
  }
  return [];
}
