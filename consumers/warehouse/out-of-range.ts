// A partition whose position is not in the log: how this is reported, and how a decision about it reaches the sink.
import { assertNever } from '../../streams/core/outcome.ts';
import type { Parked } from './assignment.ts';

/** One sentence: which partition, which offsets, and what to do. */
export function troubleOf({ topic, partition, plan }: Pick<Parked, 'topic' | 'partition' | 'plan'>): string {
  return `OFFSETS_OUT_OF_RANGE: ${topic}/${partition}: ${whatOf(plan)}. Stop the sink and run \`turnstream warehouse mend\``;
}

function whatOf(plan: Parked['plan']): string {
  switch (plan.kind) {
    case 'tail-cut':
      return `the log ends at ${plan.from} and has lost its records up to ${plan.to}`;
    case 'head-cut':
      return `offsets ${plan.from} to ${plan.to - 1} left the log before they were stored`;
    case 'tail-replaced':
      return `the log and the tables have different records at ${plan.at}: the end of the log was lost and rewritten`;
    default:
      return assertNever(plan);
  }
}

const SKIPPED = /^skipped:(\d{1,16}):(\d{1,16})$/;

/** Metadata of the offset commit that skips offsets. The sink reports the skip when it reads the commit. */
export const skip = (from: number, to: number): string => `skipped:${from}:${to}`;

export function skippedIn(metadata: string): { readonly from: number; readonly to: number } | undefined {
  const found = SKIPPED.exec(metadata);
  return found === null ? undefined : { from: Number(found[1]), to: Number(found[2]) };
}
