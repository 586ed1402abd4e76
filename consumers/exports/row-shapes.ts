// Exported token-level rows: for each trajectory that counts, the rows that a trainer would read. They are built by the same code as the
// rows of a batch, but from the columns of the table of turns.
import { groupAdvantages } from '../../streams/advantage/advantage.ts';
import { listOf } from '../../streams/rows/keep-turn.ts';
import { rowsOf, type TokenRow } from '../../streams/rows/row.ts';
import type { TokenTurn } from '../../streams/rows/token-turn.ts';
import { BEFORE_END, counted } from './shapes.ts';

/** A trajectory that counts. */
export interface RewardedTrajectory {
  readonly group_id: string;
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly purpose: string;
  readonly reward: number;
  /** The one that a step used; computed if no step trained on the trajectory. */
  readonly advantage?: number;
  readonly turns: number;
  /** Whether the condition of the export holds. Advantages are computed within the whole group. */
  readonly wanted: boolean;
}

/** The next members after a key, at most `units`, group by group. */
export const membersStatement = (condition: string | undefined): string => `select group_id, trajectory_id, attempt, purpose, reward, turns,
    toBool(${condition ?? '1'}) as wanted
  from ${counted(undefined, '(group_id, trajectory_id) > ({group:String}, {id:String})')}
  order by group_id, trajectory_id limit {units:UInt32}`;

/** What a step trained on: its reward may include attached rewards, and its attempt may differ from the one that counts in the tables. */
export type TrainedMember = Pick<RewardedTrajectory, 'trajectory_id' | 'attempt' | 'reward' | 'turns'> & { readonly advantage: number };

export const trainedStatement = `select trajectory_id, attempt, reward, turns, advantage from step_trajectories
  where run_id = {run:String} and trajectory_id in {ids:Array(String)}
  order by trajectory_id, step, _offset limit 1 by trajectory_id`;

/** The members of a group as the steps that trained on them saw them. */
export function asTrained(members: readonly RewardedTrajectory[], trained: readonly TrainedMember[]): readonly RewardedTrajectory[] {
  const known = new Map(trained.map((one) => [one.trajectory_id, one]));
  return members.map((member) => ({ ...member, ...known.get(member.trajectory_id) }));
}

/** The tokens of a turn, as the table has them. */
export interface TokenColumns extends Pick<
  TokenTurn,
  'turn' | 'branch_parent' | 'prompt_keep' | 'prompt_sha256' | 'completion_tokens' | 'logprobs_kind' | 'sampling' | 'truncated'
> {
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly prompt_ids: readonly number[];
  readonly token_ids: readonly number[];
  readonly logprobs: readonly number[];
  readonly loss_mask: readonly number[];
  readonly policy_span_versions: readonly number[];
  readonly policy_span_tokens: readonly number[];
}

/** The turns of some trajectories, each once. */
export const tokensStatement = `select trajectory_id, attempt, turn, branch_parent, prompt_keep, prompt_ids, prompt_sha256, completion_tokens,
    token_ids, logprobs, loss_mask, logprobs_kind, policy_span_versions, policy_span_tokens, sampling, truncated
  from turns where run_id = {run:String} and trajectory_id in {ids:Array(String)} and ${BEFORE_END}
  order by trajectory_id, attempt, turn, _offset limit 1 by trajectory_id, attempt, turn`;

const turnOf = (columns: TokenColumns): TokenTurn => ({
  ...columns,
  prompt_ids: listOf(Int32Array.from(columns.prompt_ids)),
  token_ids: listOf(Int32Array.from(columns.token_ids)),
  logprobs: listOf(Float32Array.from(columns.logprobs)),
  loss_mask: listOf(Int32Array.from(columns.loss_mask)),
  policy_spans: columns.policy_span_versions.map((version, at) => ({ version, tokens: columns.policy_span_tokens[at] ?? 0 })),
});

/** The rows of the wanted members of a group, numbered from `first`; undefined for a member whose turns are not all stored. */
export function* groupRows(
  members: readonly RewardedTrajectory[],
  turns: readonly TokenColumns[],
  first: number,
): Generator<readonly TokenRow[] | undefined, void, undefined> {
  const advantages = groupAdvantages(members.map(({ reward }) => reward));
  let number = first;
  for (const [at, member] of members.entries()) {
    if (!member.wanted) continue;
    const { trajectory_id: trajectoryId, attempt, group_id: groupId, purpose, reward, advantage = advantages[at] ?? 0 } = member;
    const own = turns.filter((turn) => turn.trajectory_id === trajectoryId && turn.attempt === attempt).map(turnOf);
    if (own.length !== member.turns) {
      yield undefined;
      continue;
    }
    const rows = [...rowsOf({ trajectoryId, attempt, groupId, purpose, reward, advantage, turns: own }, number)];
    number += rows.length;
    yield rows;
  }
}
