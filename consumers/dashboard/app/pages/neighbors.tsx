// Links to the previous and next trajectory of the list that the reader came from, and the keys `[` and `]`.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import { useKeys } from '../shell/keys.ts';
import { address } from '../shell/patterns.ts';
import { go, parameter } from '../shell/place.ts';

interface ApiNeighbor {
  readonly trajectory_id: string;
  readonly attempt: number;
}

interface ApiNeighbors {
  readonly previous: ApiNeighbor | null;
  readonly next: ApiNeighbor | null;
}

interface NeighborsProps {
  readonly run: string;
  readonly id: string;
  readonly attempt: number;
  /** False while the turns load: the reader waits for those. */
  readonly isWanted: boolean;
}

export function Neighbors({ run, id, attempt, isWanted }: NeighborsProps): JSX.Element {
  const of = parameter('of') ?? '';
  const path = `/v1/runs/${encodeURIComponent(run)}/trajectories/${encodeURIComponent(id)}/neighbors`;
  const { value } = useAnswer<ApiNeighbors>(isWanted ? `${path}?of_attempt=${attempt}${of === '' ? '' : `&${of}`}` : undefined);
  const linkTo = (to: ApiNeighbor | null | undefined): string | undefined =>
    to === null || to === undefined
      ? undefined
      : address('/runs/:run/t/:trajectory', { run, trajectory: to.trajectory_id }, { attempt: to.attempt, of });
  const [previous, next] = [linkTo(value?.previous), linkTo(value?.next)];
  useKeys('Trajectory', [
    { keys: ['['], does: 'Previous trajectory of the list', run: () => previous !== undefined && go(previous) },
    { keys: [']'], does: 'Next trajectory of the list', run: () => next !== undefined && go(next) },
  ]);
  return (
    <>
      {previous !== undefined && (
        <a class="chip" href={previous} aria-label="Previous trajectory of the list">
          ← <kbd>[</kbd>
        </a>
      )}
      {next !== undefined && (
        <a class="chip" href={next} aria-label="Next trajectory of the list">
          <kbd>]</kbd> →
        </a>
      )}
    </>
  );
}
