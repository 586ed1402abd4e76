// A partition whose position the log does not have: how that is said, and how a decision about it is handed to the sink.
import type { Parked } from './assignment.ts';

/** One sentence: which partition, which offsets, and what to do. */
export function troubleOf({ topic, partition, plan }: Pick<Parked, 'topic' | 'partition' | 'plan'>): string {
  const { from, to } = plan;
  const what =
    plan.kind === 'tail-cut'
      ? `the log ends at ${from} and has lost what was up to ${to}`
      : `offsets ${from} to ${to - 1} left the log before they were stored`;
  return `OFFSETS_OUT_OF_RANGE: ${topic}/${partition}: ${what}. Stop the sink and run \`turnstream warehouse mend\``;
}

const SKIPPED = /^skipped:(\d{1,16}):(\d{1,16})$/;

/** Metadata of the commit that skips offsets: the sink that finds it says so. */
export const skip = (from: number, to: number): string => `skipped:${from}:${to}`;

export function skippedIn(metadata: string): { readonly from: number; readonly to: number } | undefined {
  const found = SKIPPED.exec(metadata);
  return found === null ? undefined : { from: Number(found[1]), to: Number(found[2]) };
}
