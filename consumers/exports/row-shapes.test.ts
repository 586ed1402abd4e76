import { expect, it } from 'vitest';
import { groupAdvantages } from '../../streams/advantage/advantage.ts';
import { asTrained, groupRows, type RewardedTrajectory, type TokenColumns } from './row-shapes.ts';

const member = (id: string, attempt: number, reward: number): RewardedTrajectory => ({
  ...{ group_id: 'g', trajectory_id: id, attempt, purpose: 'train', reward, turns: 1, wanted: true },
});

const turnOf = (id: string, attempt: number): TokenColumns => ({
  ...{ trajectory_id: id, attempt, turn: 0, branch_parent: -1, prompt_keep: 0, prompt_ids: [1, 2], prompt_sha256: '' },
  ...{ completion_tokens: 1, token_ids: [3], logprobs: [-0.5], loss_mask: [], logprobs_kind: 'raw', sampling: '', truncated: false },
  ...{ policy_span_versions: [1], policy_span_tokens: [1] },
});

it('exports the attempt, reward, and advantage that a step trained on, and computes the advantage of others', () => {
  const members = [member('g.0', 1, 0), member('g.1', 0, 1)];
  const trained = [{ trajectory_id: 'g.0', attempt: 0, reward: 0.25, turns: 1, advantage: -0.9 }];
  const turns = [turnOf('g.0', 0), turnOf('g.0', 1), turnOf('g.1', 0)];
  const rows = [...groupRows(asTrained(members, trained), turns, 0)].flatMap((own) => own ?? []);
  expect(rows).toMatchObject([
    { row: 0, trajectory_id: 'g.0', attempt: 0, reward: 0.25, advantage: -0.9, trainable: true },
    { row: 1, trajectory_id: 'g.1', attempt: 0, reward: 1, advantage: groupAdvantages([0.25, 1])[1] },
  ]);
});
