// The rules of an episode besides its task's limits: the step reward of a turn, and when answers end the episode. Pure.
import type { ToolResult } from '../../../streams/core/agents.ts';

export interface Episode {
  /** none: turns have no step reward. length: the step reward depends on the length of the tool result. */
  readonly stepReward: 'none' | 'length';
  /** Number of consecutive turns that must give an answer before the episode ends; the last answer counts. */
  readonly answersToEnd: number;
}

/** One answer ends the episode, and there are no step rewards. */
export const plainEpisode: Episode = { stepReward: 'none', answersToEnd: 1 };

/** Characters of a result per unit of reward, and the maximum step reward. */
const CHARS_OF_ONE = 1_000;
const MOST = 0.5;
/** Step reward of a failed tool call, whatever the length of its error message. */
const OF_AN_ERROR = -0.1;

/**
 * Step reward of a turn under `length`: min(characters of the result / 1000, 0.5), or -0.1 when the tool's status is not ok; 0 for a turn
 * that called no tool, including answers.
 */
export function stepReward({ stepReward: rule }: Episode, result: ToolResult | undefined): number {
  if (rule === 'none' || result === undefined) return 0;
  return result.status === 'ok' ? Math.min(result.text.length / CHARS_OF_ONE, MOST) : OF_AN_ERROR;
}

/** Whether this many consecutive answers end the episode. */
export const endsEpisode = ({ answersToEnd }: Episode, answersInRow: number): boolean => answersInRow >= Math.max(1, answersToEnd);
