// A role that had to skip records of the log keeps working, but is no longer live: its health says what is missing.
import type { SkippedRange } from '../../../streams/core/ports.ts';
import type { ReportStatus, RoleStatus } from '../../../streams/core/telemetry.ts';
import { textOfSkipped } from '../../kafka/reading/skipped.ts';

/** Number of ranges to list; beyond that, only the count. */
const NAMED = 3;

export interface Completeness {
  readonly report: ReportStatus;
  readonly onSkipped: (skipped: SkippedRange) => void;
}

/** Reports pass unchanged until the first range is skipped. */
export function createCompleteness(to: ReportStatus): Completeness {
  const skipped = new Set<string>();
  let [last, records]: [RoleStatus | undefined, number] = [undefined, 0];
  const report: ReportStatus = (status) => {
    last = status;
    to(skipped.size > 0 && status.state === 'live' ? incomplete(status) : status);
  };
  const incomplete = (status: RoleStatus): RoleStatus => {
    const more = skipped.size > NAMED ? ` and ${skipped.size - NAMED} more ranges` : '';
    const detail = `retention had deleted ${[...skipped].slice(0, NAMED).join(', ')}${more} before it was read`;
    return { state: 'incomplete', detail, figures: { ...status.figures, skipped_records: records } };
  };
  return {
    report,
    onSkipped(range) {
      const text = textOfSkipped(range);
      if (skipped.has(text)) return;
      skipped.add(text);
      records += range.to - range.from;
      if (last !== undefined) report(last);
    },
  };
}
