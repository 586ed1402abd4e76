// All attempts at one question of a batch: rewards and advantages on top, turns of each below, and two of them aligned word by word.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import { ask, type ApiProblem } from '../data/request.ts';
import type { ApiPage, ApiTrajectory, ApiTurn } from '../data/shapes.ts';
import { figure } from '../kit/format.ts';
import { Badge, Text } from '../kit/parts.tsx';
import { RunPage, runUrl } from '../kit/run-page.tsx';
import { Empty, Failed, Loading, Waiting } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { useKeys } from '../shell/keys.ts';
import { address, type PatternParts } from '../shell/patterns.ts';
import { change, parameter } from '../shell/place.ts';
import { alignActs, diffWords, type TextPart } from './align.ts';

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

const nameOf = ({ trajectory_id, attempt }: ApiTrajectory): string => `${trajectory_id}#${attempt}`;

function Board({ run, group }: { readonly run: string; readonly group: ApiGroup }): JSX.Element {
  const fates = useAnswer<ApiPage<ApiTrajectory>>(
    runUrl(run, `/trajectories?limit=100&group=${encodeURIComponent(group.group_id)}&fields=trajectory_id,attempt,fate,answer`),
  );
  const names = group.trajectories.map(nameOf);
  const byReward = [...group.trajectories].sort((a, b) => (b.reward ?? 0) - (a.reward ?? 0));
  const a = parameter('a') ?? nameOf(byReward[0] ?? (group.trajectories[0] as ApiTrajectory));
  const b = parameter('b') ?? nameOf(byReward.at(-1) ?? (group.trajectories[0] as ApiTrajectory));
  const fateOf = (row: ApiTrajectory): ApiTrajectory | undefined => fates.value?.items.find((one) => nameOf(one) === nameOf(row));
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
          {nameOf(row)}
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
              aria-pressed={(side === 'a' ? a : b) === nameOf(row)}
              aria-label={`${side}: ${nameOf(row)}`}
              onClick={() => change({ [side]: nameOf(row) })}
            >
              {side}
            </button>
          ))}
        </span>
      ),
    },
  ];
  const [left, right] = [a, b].map((name) => group.trajectories.find((row) => nameOf(row) === name));
  return (
    <>
      <p>
        <Text>{group.question}</Text>{' '}
        <a href={address('/runs/:run/questions/:question', { run, question: group.question_id })}>All answers of the run</a>
      </p>
      <p class="note">{arithmetic(group)}</p>
      <Table label="Attempts" rows={group.trajectories} columns={columns} keyOf={nameOf} />
      {left !== undefined && right !== undefined && left !== right ? (
        <Diff key={`${a} ${b}`} run={run} left={left} right={right} />
      ) : (
        <Empty>Choose two attempts to compare.</Empty>
      )}
    </>
  );
}

/** How the advantage comes from the rewards, in words. */
function arithmetic({ trajectories }: ApiGroup): string {
  const rewards = trajectories.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  if (rewards.length === 0) return 'No reward was recorded.';
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const deviation = Math.sqrt(rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards.length);
  if (deviation === 0) return `All ${rewards.length} rewards are ${figure(mean)}: there is nothing to learn from a difference.`;
  return `Rewards ${rewards.map((reward) => figure(reward)).join(', ')}: mean ${figure(mean)}, standard deviation ${figure(deviation)}. The recorded advantage is what the step used; the algorithm of the run says how it divides.`;
}

const MOST_TURNS = 200;
const fields = 'turn,text,tool,tool_status,tool_arguments,tool_result,reward';

type Sides =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly problem: ApiProblem }
  | { readonly kind: 'done'; readonly left: readonly ApiTurn[]; readonly right: readonly ApiTurn[] };

function Diff({ run, left, right }: { readonly run: string; readonly left: ApiTrajectory; readonly right: ApiTrajectory }): JSX.Element {
  const [sides, setSides] = useState<Sides>({ kind: 'loading' });
  useEffect(() => {
    const stop = new AbortController();
    const turnsOf = ({ trajectory_id, attempt }: ApiTrajectory) =>
      ask<ApiPage<ApiTurn>>(
        `/v1/trajectories/${encodeURIComponent(trajectory_id)}/turns?run=${encodeURIComponent(run)}&attempt=${attempt}&limit=${MOST_TURNS}&fields=${fields}`,
        { signal: stop.signal },
      );
    void Promise.all([turnsOf(left), turnsOf(right)]).then(([a, b]) => {
      if (stop.signal.aborted) return;
      if (a.ok && b.ok) setSides({ kind: 'done', left: a.value.items, right: b.value.items });
      else setSides({ kind: 'failed', problem: a.ok ? (b as { problem: ApiProblem }).problem : a.problem });
    });
    return () => stop.abort();
  }, []);
  if (sides.kind === 'loading') return <Loading of="both attempts" />;
  if (sides.kind === 'failed') return <Failed problem={sides.problem} />;
  const act = ({ turn, tool, tool_arguments }: ApiTurn) => ({ turn, tool, arguments: tool_arguments });
  const pairs = alignActs(sides.left.map(act), sides.right.map(act));
  return (
    <section aria-label="Difference" class="diff">
      <h2>
        {nameOf(left)} <small>reward {figure(left.reward)}</small>
      </h2>
      <h2>
        {nameOf(right)} <small>reward {figure(right.reward)}</small>
      </h2>
      {pairs.map((pair) => (
        <PairOfTurns key={`${pair.left} ${pair.right}`} kind={pair.kind} left={sides.left[pair.left]} right={sides.right[pair.right]} />
      ))}
      {(left.turns > MOST_TURNS || right.turns > MOST_TURNS) && <p class="note">The first {MOST_TURNS} turns of each are compared.</p>}
    </section>
  );
}

const TEXT = 4_000;
const textOf = (turn: ApiTurn | undefined): string =>
  [turn?.text, turn?.tool_arguments, turn?.tool_result].filter(Boolean).join('\n').slice(0, TEXT);

function PairOfTurns({
  kind,
  left,
  right,
}: {
  readonly kind: string;
  readonly left: ApiTurn | undefined;
  readonly right: ApiTurn | undefined;
}): JSX.Element {
  const both = left !== undefined && right !== undefined ? diffWords(textOf(left), textOf(right)) : undefined;
  const side = (turn: ApiTurn | undefined, parts: readonly TextPart[] | undefined): JSX.Element =>
    turn === undefined ? (
      <div class="turn none">no such turn</div>
    ) : (
      <div class={`turn ${kind}`}>
        <b>
          Turn {turn.turn} {turn.tool !== '' && <Text>{turn.tool}</Text>}
        </b>{' '}
        {kind === 'same' && <small>same call</small>}
        <pre tabIndex={0}>
          {(parts ?? [{ text: textOf(turn), isOwn: false }]).map((part, at) =>
            part.isOwn ? (
              <mark key={at}>
                <Text>{part.text}</Text>
              </mark>
            ) : (
              <Text key={at}>{part.text}</Text>
            ),
          )}
        </pre>
      </div>
    );
  return (
    <>
      {side(left, both?.[0])}
      {side(right, both?.[1])}
    </>
  );
}
