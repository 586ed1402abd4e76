// Notices in the status of a live role: problems that do not stop it, but that an operator has to know.
import type { ReportStatus, RoleStatus } from '../../../streams/core/telemetry.ts';

export interface Notices {
  readonly report: ReportStatus;
  /** Sets the notice, empty = none, and its figures. */
  readonly tell: (text: string, figures?: Readonly<Record<string, number>>) => void;
}

/** Reports pass unchanged until a notice is set. Only a live role shows its text: any other status has a detail of its own. */
export function createNotices(to: ReportStatus): Notices {
  let [text, figures]: [string, Readonly<Record<string, number>>] = ['', {}];
  let last: RoleStatus | undefined;
  const report: ReportStatus = (status) => {
    last = status;
    const said = status.state === 'live' ? [status.detail, text].filter((part) => part !== '').join('; ') : status.detail;
    to({ ...status, detail: said, figures: { ...status.figures, ...figures } });
  };
  return {
    report,
    tell(next, more = {}) {
      [text, figures] = [next, more];
      if (last !== undefined) report(last);
    },
  };
}
