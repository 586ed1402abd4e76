// The figures of a range of steps, from the outcomes that are kept up to date. They are made again when outcomes of the run change.
import type { Store } from '../../../streams/core/ports.ts';
import type { DiscardReason } from '../../../streams/batch/batch.ts';
import { createMemo, type Memo } from '../memo.ts';
import { readOutcomesOfRange } from './outcomes.fold.ts';
import { BiasTally, type RangeFigures } from './selection-bias.tally.ts';

/** Outcomes of a run; without a reason, all discards are compared. */
export interface BiasRange {
  readonly run: string;
  readonly from_step?: number | undefined;
  readonly to_step?: number | undefined;
  readonly reason?: DiscardReason | undefined;
}

const LAST_STEP = 2 ** 31 - 1;

const memos = new WeakMap<Store, Memo<RangeFigures>>();

/** Exact figures of a whole range. */
export async function readRangeFigures(store: Store, range: BiasRange): Promise<RangeFigures> {
  const { run, from_step: first = 0, to_step: last = LAST_STEP, reason } = range;
  const { parts, version } = await readOutcomesOfRange(store, run, { first, last });
  const memo = memos.get(store) ?? createMemo<RangeFigures>();
  memos.set(store, memo);
  return memo(JSON.stringify([run, first, last, reason]), String(version), async () => {
    const tally = new BiasTally(reason);
    for (const part of parts) tally.add(part);
    return tally.figures();
  });
}
