// Determines from consecutive checks which advisories began and ended. One begins when two checks in a row find it, and ends when two in a
// row do not, so that a figure at its limit does not send message after message.
import type { RowOf } from '../columns.ts';
import type { advisoryColumns } from './watch.columns.ts';

type Advisory = RowOf<typeof advisoryColumns>;

/** The findings of a check in one run. */
export interface RunFindings {
  readonly run_id: string;
  readonly items: readonly Advisory[];
}

export interface OpenAdvisory extends Advisory {
  readonly run_id: string;
  /** When it was first found, RFC 3339. */
  readonly since: string;
  readonly isTold: boolean;
  /** True if the newest check did not find it. */
  readonly isMissed: boolean;
}

export interface AdvisoryMessage extends Omit<Advisory, 'is_over'> {
  readonly event: 'began' | 'ended';
  readonly run_id: string;
  readonly since: string;
  readonly at: string;
  /** A one-line summary for chats, without markup and hidden characters. */
  readonly text: string;
}

interface AdvisoryChanges {
  readonly open: readonly OpenAdvisory[];
  readonly messages: readonly AdvisoryMessage[];
}

/** Identifies an advisory without its detail, because the figures in it change between checks. */
const identityOf = ({ run_id, rule, title }: { readonly run_id: string; readonly rule: string; readonly title: string }): string =>
  JSON.stringify([run_id, rule, title]);

const HIDDEN = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;
const markOf = (hidden: string): string => `‹U+${(hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`;
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Names come from the log, and chats act on markup: `<!channel>` notifies everyone. */
const plainText = (text: string): string => text.replace(HIDDEN, markOf).replace(/[&<>]/g, (sign) => ENTITIES[sign] ?? sign);

function messageOf(event: AdvisoryMessage['event'], open: OpenAdvisory, at: string): AdvisoryMessage {
  const { run_id, rule, severity, title, detail, page, sql, since } = open;
  const text = plainText(`${run_id}: ${event === 'began' ? severity : 'over'}: ${title}. ${detail}`);
  return { event, run_id, rule, severity, title, detail, page, sql, since, at, text };
}

/** Findings that are over neither begin nor count as active. */
function currentOf(looked: readonly RunFindings[], at: string): Map<string, OpenAdvisory> {
  const all = looked.flatMap(({ run_id, items }) => items.map((item) => ({ ...item, run_id, since: at, isTold: false, isMissed: false })));
  return new Map(all.filter(({ is_over }) => !is_over).map((one) => [identityOf(one), one]));
}

/** Nothing is known about a run that was not checked: its advisories stay as they are. */
export function changesOf(before: readonly OpenAdvisory[], looked: readonly RunFindings[], at: string): AdvisoryChanges {
  const found = currentOf(looked, at);
  const checked = new Set(looked.map(({ run_id }) => run_id));
  const open: OpenAdvisory[] = [];
  const messages: AdvisoryMessage[] = [];
  for (const one of before) {
    const now = found.get(identityOf(one));
    found.delete(identityOf(one));
    if (now !== undefined) {
      const told = { ...now, since: one.since, isTold: true };
      if (!one.isTold) messages.push(messageOf('began', told, at));
      open.push(told);
    } else if (one.isTold && !checked.has(one.run_id)) open.push(one);
    else if (one.isTold && one.isMissed) messages.push(messageOf('ended', one, at));
    else if (one.isTold) open.push({ ...one, isMissed: true });
  }
  return { open: [...open, ...found.values()], messages };
}
