// The outcome of each trajectory according to the ledger, and whether that is consistent. A trajectory is admitted once, with its group,
// and trained on, collected or discarded once; a group closes as a whole. An attempt other than the deciding one may have one discard of
// its own, `superseded` or `invalid`, if another attempt decides its trajectory; a trajectory with only invalid attempts is discarded.
import type { EventByType } from '../../schemas/generated/events.ts';
import { groupIdOf } from '../core/ids.ts';

type DiscardEntry = Pick<EventByType['TrajectoryDiscarded'], 'trajectory_id' | 'attempt' | 'reason'>;

type KeptAttempt = Pick<EventByType['TrajectoryDiscarded'], 'trajectory_id' | 'attempt'>;

type Admitted = readonly { readonly group_id: string; readonly samples: number }[];

export interface TrajectoryOutcomes {
  /** Notes an admission; returns the problems found. */
  admitted(groups: Admitted): readonly string[];
  /** Notes that an attempt was trained on, or collected; returns the problems found. */
  kept(how: KeptOutcome, attempt: KeptAttempt, step?: number): readonly string[];
  /** Abandons the steps after this version and discards what they trained on. Returns the number of trajectories. */
  rewound(to: number): number;
  /** Notes a discard; returns the problems found. */
  discarded(event: DiscardEntry): readonly string[];
  /** Trajectories by outcome, and the problems of the whole ledger. */
  report(): OutcomeTotals & { readonly problems: readonly string[] };
  /** Number of groups from which no trajectory was trained, collected or discarded so far. */
  openGroups(): number;
}

/** Numbers of trajectories. */
interface OutcomeTotals {
  readonly admitted: number;
  readonly trained: number;
  /** Kept without a training step. */
  readonly collected: number;
  readonly discarded: number;
  /** In groups from which no trajectory was trained, collected or discarded. */
  readonly open: number;
}

interface GroupOutcome {
  readonly samples: number;
  /** Trajectories that have an outcome. */
  closed: number;
}

type KeptOutcome = 'trained' | 'collected';

interface TrajectoryOutcome {
  decided: KeptOutcome | 'discarded' | undefined;
  superseded: boolean;
  /** The step that trained on it; 0 = none. */
  step: number;
  readonly attempts: number[];
}

/** True for a discard of one attempt, which does not decide its trajectory. */
const isOfAttempt = (reason: string): boolean => reason === 'superseded' || reason === 'invalid';

export function createOutcomes(): TrajectoryOutcomes {
  const outcomes = new Map<string, TrajectoryOutcome>();
  const groups = createGroups();

  function outcomeOf(id: string): TrajectoryOutcome {
    const known = outcomes.get(id);
    if (known !== undefined) return known;
    const outcome: TrajectoryOutcome = { decided: undefined, superseded: false, step: 0, attempts: [] };
    outcomes.set(id, outcome);
    groups.close(groupIdOf(id));
    return outcome;
  }

  function decide(id: string, outcome: TrajectoryOutcome, how: KeptOutcome | 'discarded'): readonly string[] {
    const before = outcome.decided;
    outcome.decided = how;
    if (before === undefined) return [];
    if (before === how) return [`trajectory ${id} is ${how} a second time`];
    return [`trajectory ${id} was ${before} before it was ${how}`];
  }

  /** Notes an attempt; no attempt has two outcomes. */
  function claim(id: string, outcome: TrajectoryOutcome, attempt: number): readonly string[] {
    if (outcome.attempts.includes(attempt)) return [`attempt ${attempt} of trajectory ${id} has a second outcome`];
    outcome.attempts.push(attempt);
    return [];
  }

  return {
    admitted: (admitted) => groups.admit(admitted),
    openGroups: () => groups.open(),
    kept(how, { trajectory_id: id, attempt }, step = 0) {
      const outcome = outcomeOf(id);
      const problems = decide(id, outcome, how);
      outcome.step = step;
      return problems.length > 0 ? problems : claim(id, outcome, attempt);
    },
    rewound(to) {
      const behind = [...outcomes.values()].filter(({ decided, step }) => decided === 'trained' && step > to);
      for (const outcome of behind) outcome.decided = 'discarded';
      return behind.length;
    },
    discarded({ trajectory_id: id, attempt, reason }) {
      const outcome = outcomeOf(id);
      const problems = isOfAttempt(reason) ? [] : decide(id, outcome, 'discarded');
      outcome.superseded ||= reason === 'superseded';
      return problems.length > 0 ? problems : claim(id, outcome, attempt);
    },
    report() {
      const all = [...outcomes];
      const count = (how: KeptOutcome): number => all.filter(([, { decided }]) => decided === how).length;
      const [trained, collected] = [count('trained'), count('collected')];
      const alone = all.filter(([, { decided, superseded }]) => superseded && decided === undefined);
      const { admitted, open, problems } = groups.report();
      return {
        ...{ admitted, open, trained, collected, discarded: all.length - trained - collected },
        problems: [...alone.map(([id]) => `an attempt of trajectory ${id} is superseded, but no attempt superseded it`), ...problems],
      };
    },
  };
}

/** Counts the trajectories of each group that have an outcome. */
function createGroups() {
  const groups = new Map<string, GroupOutcome>();
  const strangers = new Set<string>();
  let open = 0;
  return {
    admit(admitted: Admitted): readonly string[] {
      const again = admitted.filter(({ group_id: id }) => groups.has(id));
      for (const { group_id: id, samples } of admitted) {
        if (!groups.has(id)) open += 1;
        groups.set(id, groups.get(id) ?? { samples, closed: 0 });
      }
      return again.map(({ group_id: id }) => `group ${id} is admitted a second time`);
    },
    /** One more of its trajectories has an outcome. */
    close(id: string): void {
      const group = groups.get(id);
      if (group === undefined) strangers.add(id);
      else if ((group.closed += 1) === 1) open -= 1;
    },
    open: () => open,
    report() {
      const all = [...groups];
      const partly = all.filter(([, { closed, samples }]) => closed > 0 && closed !== samples);
      return {
        admitted: all.reduce((sum, [, { samples }]) => sum + samples, 0),
        open: all.reduce((sum, [, { samples, closed }]) => sum + (closed === 0 ? samples : 0), 0),
        problems: [
          ...[...strangers].map((id) => `group ${id} was trained or discarded and never admitted`),
          ...partly.map(
            ([id, { samples, closed }]) => `group ${id} was admitted with ${samples} trajectories, and ${closed} were trained or discarded`,
          ),
        ],
      };
    },
  };
}
