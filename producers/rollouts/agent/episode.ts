// The rules of an episode beside the limits of its task: what a turn is worth by itself, and when answers end it. Pure.
import type { ToolResult } from '../../../streams/core/agents.ts';

export interface Episode {
  /** none: a turn is worth nothing by itself. length: it is worth as much as its tool found. */
  readonly stepReward: 'none' | 'length';
  /** Turns in a row that have to give an answer before the episode ends; the last of the answers counts. */
  readonly answersToEnd: number;
}

/** One answer ends the episode, and only it is worth anything. */
export const plainEpisode: Episode = { stepReward: 'none', answersToEnd: 1 };

/** Characters of a result that are worth 1, and what a result is worth at most. */
const CHARS_OF_ONE = 1_000;
const MOST = 0.5;
/** What a tool call is worth that failed, however long the message is that says so. */
const OF_AN_ERROR = -0.1;

/**
 * What a turn is worth by itself, by `length`: min(characters of the result / 1000, 0.5), or -0.1 when the tool's status
 * is not ok; 0 for a turn that called no tool, answers included.
 */
export function stepReward({ stepReward: rule }: Episode, result: ToolResult | undefined): number {
  if (rule === 'none' || result === undefined) return 0;
  return result.status === 'ok' ? Math.min(result.text.length / CHARS_OF_ONE, MOST) : OF_AN_ERROR;
}

/** Whether this many answers in a row end the episode. */
export const endsEpisode = ({ answersToEnd }: Episode, answersInRow: number): boolean => answersInRow >= Math.max(1, answersToEnd);
