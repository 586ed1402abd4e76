// All attempts at one question of a batch: rewards and advantages at the top, their tool calls in aligned columns, and a word-by-word diff
// of two of them.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import type { ApiPage, ApiRun, ApiTrajectory } from '../data/shapes.ts';
import { figure, NOT_RECORDED } from '../kit/format.ts';
import { Badge, Text } from '../kit/parts.tsx';
import { RunPage, runUrl } from '../kit/run-page.tsx';
import { Empty, Waiting } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { visible } from '../kit/visible.ts';
import { useKeys } from '../shell/keys.ts';
import { attemptName } from '../shell/attempt-names.ts';
import { address, type PatternParts } from '../shell/patterns.ts';
import { change, parameter } from '../shell/place.ts';
import { AttemptDiff } from './attempt-diff.tsx';
import { arithmeticOf, countedReward, formulaOf, rewardsOf } from './group-advantage.ts';
import { GroupBoard } from './group-board.tsx';

interface ApiGroup {
  readonly group_id: string;
  readonly question_id: string;
  readonly question: string;
  readonly trajectories: readonly ApiTrajectory[];
  readonly requested: readonly unknown[];
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
    runUrl(run, `/trajectories?limit=1000&group=${encodeURIComponent(group.group_id)}&fields=trajectory_id,attempt,fate,answer`),
  );
  const ofRun = useAnswer<ApiRun>(runUrl(run));
  const rewards = rewardsOf(fates.value?.items ?? []);
  const names = group.trajectories.map(attemptName);
  const byReward = [...group.trajectories].sort((a, b) => (b.reward ?? 0) - (a.reward ?? 0));
  const a = parameter('a') ?? attemptName(byReward[0] ?? (group.trajectories[0] as ApiTrajectory));
  const b = parameter('b') ?? attemptName(byReward.at(-1) ?? (group.trajectories[0] as ApiTrajectory));
  const fateOf = (row: ApiTrajectory): ApiTrajectory | undefined => fates.value?.items.find((one) => attemptName(one) === attemptName(row));
  const formula = (row: ApiTrajectory | undefined): string => {
    if (row === undefined) return NOT_RECORDED;
    const reward = countedReward(row);
    return reward === undefined ? 'does not count' : formulaOf(reward, rewards);
  };
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
        <a href={address('/runs/:run/t/:trajectory', { run, trajectory: row.trajectory_id }, { attempt: row.attempt })}>
          <Text>{attemptName(row)}</Text>
        </a>
      ),
    },
    { name: 'Reward', number: true, of: (row) => figure(row.reward) },
    { name: 'Advantage', number: true, of: (row) => figure(fateOf(row)?.advantage) },
    { name: 'By the formula', number: true, of: (row) => formula(fateOf(row)) },
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
              aria-label={`${side}: ${visible(attemptName(row))}`}
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
      {fates.value !== undefined && <p class="note">{arithmeticOf(rewards, ofRun.value?.algorithm)}</p>}
      <Table label="Attempts" rows={group.trajectories} columns={columns} keyOf={attemptName} />
      <GroupBoard run={run} group={group.group_id} attempts={byReward} size={Math.max(group.requested.length, names.length)} />
      {left !== undefined && right !== undefined && left !== right ? (
        <AttemptDiff key={`${a} ${b}`} run={run} left={left} right={right} />
      ) : (
        <Empty>Choose two attempts to compare.</Empty>
      )}
    </>
  );
}
