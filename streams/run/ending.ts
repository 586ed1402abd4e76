// Summarizes in a sentence or two how a run ended, for the ledger, the tables and the terminal.
import type { HopelessReason, Waste } from './waste.ts';

export type EndReason = 'steps_reached' | 'collected' | HopelessReason;

export interface Ended {
  readonly reason: EndReason;
  /** False for a run whose policy comes from outside the trainer. */
  readonly isTrained: boolean;
  readonly steps: number;
  readonly batches: number;
  /** Newest version; -1 = the model reported none. */
  readonly version: number;
  /** Numbers of trajectories. */
  readonly admitted: number;
  readonly trained: number;
  readonly collected: number;
  readonly discarded: number;
  readonly open: number;
  /** For a run that was stopped because too much was wasted. */
  readonly waste?: Waste;
}

/** `1 question`, `2 questions` */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** `stale 60, uniform_group 2` */
export const reasonsText = ({ reasons }: Waste): string => reasons.map(([reason, count]) => `${reason} ${count}`).join(', ');

const INCOMPLETE = 'The column error of trajectories says why attempts did not finish.';

const hints: Readonly<Record<string, string>> = {
  stale: 'Stale ones are older than TURNSTREAM_MAX_STALENESS allows; if an engine serves the policy, check that it loads each new version.',
  unknown_version:
    'Too many of their tokens come from an unknown policy version: the engine reports none, or serves weights of another run. See TURNSTREAM_MAX_UNKNOWN.',
  uniform_group:
    'All answers to a question got the same reward: the questions are too easy or too hard for this policy. Use others, or set TURNSTREAM_MAX_DISCARDED=1 to go on with these.',
  incomplete: INCOMPLETE,
};

/** A reason with at least this share of the discarded groups is explained. */
const EXPLAINED_SHARE = 0.25;

/** What to do about the frequent reasons for discards; empty if there is nothing to say. */
export const hintsFor = ({ discarded, reasons }: Waste): string =>
  reasons.flatMap(([reason, count]) => (count >= discarded * EXPLAINED_SHARE ? (hints[reason] ?? []) : [])).join(' ');

const NONE: Waste = { groups: 0, discarded: 0, reasons: [] };

function whyStopped({ reason, waste = NONE }: Ended): string {
  switch (reason) {
    case 'steps_reached':
    case 'collected':
      return '';
    case 'nothing_learned':
      return 'Stopped asking: the last steps left the weights as they were. ';
    case 'nothing_finished':
      return `Stopped asking: none of the last ${counted(waste.groups, 'group')} finished. ${INCOMPLETE} `;
    case 'mostly_discarded':
      return `Stopped asking: ${waste.discarded} of the last ${counted(waste.groups, 'group')} were discarded (${reasonsText(waste)}). ${hintsFor(waste)} `;
  }
}

function whatWasMade({ isTrained, steps, batches, admitted, trained, collected, discarded, open }: Ended): string {
  const rest = `discarded ${discarded}, left ${open} open.`;
  if (isTrained)
    return `Made ${counted(steps, 'step')}: trained on ${trained} of ${counted(admitted, 'trajectory').replace(/ys$/, 'ies')}, ${rest}`;
  const kept = `kept ${collected} of ${admitted} trajectories, ${rest}`;
  return `Collected ${counted(batches, 'batch').replace(/hs$/, 'hes')}: ${kept} Made no step, because the trainer does not make this policy.`;
}

const whichVersions = ({ isTrained, version }: Ended): string => {
  if (isTrained) return '';
  return version < 0 ? ' The model named no version of its weights.' : ` The newest version that the model named is ${version}.`;
};

export const endingText = (ended: Ended): string => `${whyStopped(ended)}${whatWasMade(ended)}${whichVersions(ended)}`;
