// All attempts at one question of a batch: rewards and advantages at the top, their turns below, and a word-by-word diff of two of them.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import type { ApiPage, ApiTrajectory } from '../data/shapes.ts';
import { figure } from '../kit/format.ts';
import { Badge, Text } from '../kit/parts.tsx';
import { RunPage, runUrl } from '../kit/run-page.tsx';
import { Empty, Waiting } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { useKeys } from '../shell/keys.ts';
import { attemptName } from '../shell/attempt-names.ts';
import { address, type PatternParts } from '../shell/patterns.ts';
import { change, parameter } from '../shell/place.ts';
import { AttemptDiff } from './attempt-diff.tsx';

interface ApiGroup {
  readonly group_id: string;
  readonly question_id: string;
  readonly question: string;
  readonly group_size: number;
  readonly reward_mean: number | null;
  readonly trajectories: readonly ApiTrajectory[];
}

export function GroupPage({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  const group = parts['group'] ?? '';
  const shown = useAnswer<ApiGroup>(runUrl(run, `/groups/${encodeURIComponent(group)}`));
  return (
    <RunPage run={run} title={`Group ${group}`}>
      <Waiting shown={shown} of="the group">
        {(value) =>
          value.trajectories.length === 0 ? <Empty>No attempt of this group has finished yet.</Empty> : <Board run={run} group={value} />
        }
      </Waiting>
    </RunPage>
  );
}

function Board({ run, group }: { readonly run: string; readonly group: ApiGroup }): JSX.Element {
  const fates = useAnswer<ApiPage<ApiTrajectory>>(
    runUrl(run, `/trajectories?limit=100&group=${encodeURIComponent(group.group_id)}&fields=trajectory_id,attempt,fate,answer`),
  );
  const names = group.trajectories.map(attemptName);
  const byReward = [...group.trajectories].sort((a, b) => (b.reward ?? 0) - (a.reward ?? 0));
  const a = parameter('a') ?? attemptName(byReward[0] ?? (group.trajectories[0] as ApiTrajectory));
  const b = parameter('b') ?? attemptName(byReward.at(-1) ?? (group.trajectories[0] as ApiTrajectory));
  const fateOf = (row: ApiTrajectory): ApiTrajectory | undefined => fates.value?.items.find((one) => attemptName(one) === attemptName(row));
  const step = (by: number): void => {
    const next = names[(names.indexOf(b) + by + names.length) % names.length];
    if (next !== undefined) change({ b: next });
  };
  useKeys('Group', [
    { keys: ['l', 'j'], does: 'Compare with the next attempt', run: () => step(1) },
    { keys: ['h', 'k'], does: 'Compare with the attempt before', run: () => step(-1) },
  ]);
  const columns: readonly TableColumn<ApiTrajectory>[] = [
    {
      name: 'Attempt',
      of: (row) => (
        <a href={address('/runs/:run/t/:trajectory', { run, trajectory: row.trajectory_id }, { attempt: row.attempt || undefined })}>
          {attemptName(row)}
        </a>
      ),
    },
    { name: 'Reward', number: true, of: (row) => figure(row.reward) },
    { name: 'Advantage', number: true, of: (row) => figure(fateOf(row)?.advantage) },
    { name: 'Answer', of: (row) => <Text title>{row.answer.slice(0, 80)}</Text> },
    { name: 'Turns', number: true, of: (row) => figure(row.turns) },
    { name: 'Status', of: (row) => <Badge state={row.status} /> },
    { name: 'Fate', of: (row) => <Badge state={fateOf(row)?.fate ?? ''} note={(fateOf(row)?.fate_reason ?? '').replaceAll('_', ' ')} /> },
    {
      name: 'Compare',
      of: (row) => (
        <span class="inline">
          {(['a', 'b'] as const).map((side) => (
            <button
              key={side}
              type="button"
              class="chip"
              aria-pressed={(side === 'a' ? a : b) === attemptName(row)}
              aria-label={`${side}: ${attemptName(row)}`}
              onClick={() => change({ [side]: attemptName(row) })}
            >
              {side}
            </button>
          ))}
        </span>
      ),
    },
  ];
  const [left, right] = [a, b].map((name) => group.trajectories.find((row) => attemptName(row) === name));
  return (
    <>
      <p>
        <Text>{group.question}</Text>{' '}
        <a href={address('/runs/:run/questions/:question', { run, question: group.question_id })}>All answers of the run</a>
      </p>
      <p class="note">{arithmetic(group)}</p>
      <Table label="Attempts" rows={group.trajectories} columns={columns} keyOf={attemptName} />
      {left !== undefined && right !== undefined && left !== right ? (
        <AttemptDiff key={`${a} ${b}`} run={run} left={left} right={right} />
      ) : (
        <Empty>Choose two attempts to compare.</Empty>
      )}
    </>
  );
}

/** Explains how the advantage follows from the rewards. */
function arithmetic({ trajectories }: ApiGroup): string {
  const rewards = trajectories.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  if (rewards.length === 0) return 'No reward was recorded.';
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const deviation = Math.sqrt(rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards.length);
  if (deviation === 0) return `All ${rewards.length} rewards are ${figure(mean)}: there is nothing to learn from a difference.`;
  return `Rewards ${rewards.map((reward) => figure(reward)).join(', ')}: mean ${figure(mean)}, standard deviation ${figure(deviation)}. The recorded advantage is what the step used; the algorithm of the run says how it divides.`;
}
