// What a live role says beside its own status: something that does not stop it, but that somebody has to know.
import type { ReportStatus, RoleStatus } from '../../../streams/core/telemetry.ts';

export interface Notices {
  readonly report: ReportStatus;
  /** What to say from now on, empty = nothing, and more figures. */
  tell(text: string, figures?: Readonly<Record<string, number>>): void;
}

/** Reports pass unchanged until something is told. Only a live role has room for a notice: any other status has a detail of its own. */
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
