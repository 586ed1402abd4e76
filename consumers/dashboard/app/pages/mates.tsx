// Links to the other trajectories of the group, and the keys `h` and `l`, which go through the attempts and then to the other trajectories.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import type { ApiPage, ApiTrajectoryReport } from '../data/shapes.ts';
import { figure } from '../kit/format.ts';
import { Text } from '../kit/parts.tsx';
import { visible } from '../kit/visible.ts';
import type { MarkedAttempt } from '../shell/attempt-names.ts';
import { useKeys } from '../shell/keys.ts';
import { address } from '../shell/patterns.ts';
import { change, go, parameter } from '../shell/place.ts';
import { besideOf, matesOf, type GroupMate } from './group-mates.ts';

const MOST_LINKS = 12;

interface MatesProps {
  readonly run: string;
  readonly report: ApiTrajectoryReport;
  readonly attempt: number;
  /** False while the turns load: the reader waits for those. */
  readonly isWanted: boolean;
}

export function Mates({ run, report, attempt, isWanted }: MatesProps): JSX.Element | null {
  const { trajectory_id: id, group_id: group } = report;
  const list = `/v1/runs/${encodeURIComponent(run)}/trajectories?limit=1000&group=${encodeURIComponent(group)}`;
  const url = isWanted && group !== '' ? `${list}&fields=trajectory_id,attempt,reward,fate` : undefined;
  const { value } = useAnswer<ApiPage<GroupMate>>(url, { keep: true });
  const mates = useMemo(() => matesOf(value?.items ?? [], id), [value, id]);
  const linkTo = (mate: MarkedAttempt): string =>
    address(
      '/runs/:run/t/:trajectory',
      { run, trajectory: mate.trajectory_id },
      { attempt: mate.attempt, view: parameter('view'), of: parameter('of') },
    );
  const step = (by: 1 | -1): void => {
    const attempts = report.attempts.map((each) => each.attempt);
    const to = besideOf({ mates, open: { trajectory_id: id, attempt }, attempts }, by);
    if (to === undefined) return;
    if (to.trajectory_id === id) change({ attempt: to.attempt, turn: '' }, true);
    else go(linkTo(to));
  };
  useKeys('Trajectory', [
    { keys: ['h'], does: 'Previous attempt or group mate', run: () => step(-1) },
    { keys: ['l'], does: 'Next attempt or group mate', run: () => step(1) },
  ]);
  if (mates.length < 2) return null;
  const own = mates.findIndex((mate) => mate.trajectory_id === id);
  const from = Math.max(0, Math.min(own - MOST_LINKS / 2, mates.length - MOST_LINKS));
  return (
    <nav class="chips" aria-label="Group mates">
      <small>
        {own + 1} of {figure(mates.length)}
        {typeof value?.next_cursor === 'string' && '+'} in the group, with their rewards <kbd>h</kbd> <kbd>l</kbd>
      </small>
      {mates.slice(from, from + MOST_LINKS).map((mate) => (
        <a
          key={mate.trajectory_id}
          class="chip"
          href={linkTo(mate)}
          title={`${visible(mate.trajectory_id)}: ${mate.fate ?? 'not finished'}`}
          aria-current={mate.trajectory_id === id ? 'page' : undefined}
        >
          <Text>{nameIn(group, mate.trajectory_id)}</Text>: {figure(mate.reward)}
        </a>
      ))}
    </nav>
  );
}

/** The part of an id after the id of its group. */
const nameIn = (group: string, id: string): string => (id.startsWith(`${group}.`) ? id.slice(group.length + 1) : id);
