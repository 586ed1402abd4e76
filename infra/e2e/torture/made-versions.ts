// The versions of a run, from its ledger. Each but the first has a parent: a step continues the newest version, a rewind an older one.
import { eventsOf, type FactOf, type LogFact } from './facts.ts';

export interface ChainVersion {
  readonly version: number;
  /** The version that it continues; -1 for the first. */
  readonly parent: number;
  /** Hash of the ledger entry that made it, which is its lineage token. */
  readonly lineage: string;
  /** Hash of its weights; empty when no entry names it. */
  readonly sha256: string;
  /** Trajectories that its step trained on. */
  readonly trained: readonly string[];
}

/** In the order of the ledger. */
export function versionsOf(training: readonly LogFact[]): readonly ChainVersion[] {
  const named = new Map(eventsOf(training, 'WeightsNamed').map(({ event }) => [event.version, event.sha256]));
  return training.flatMap((fact) => {
    const made = versionOf(fact);
    if (made === undefined) return [];
    return [made.sha256 === '' ? { ...made, sha256: named.get(made.version) ?? '' } : made];
  });
}

function versionOf({ read, sha256: lineage }: LogFact): ChainVersion | undefined {
  const { type, event } = read;
  if (type === 'RunStarted') return { version: 0, parent: -1, lineage, sha256: event.weights_sha256, trained: [] };
  if (type === 'RunRewound') {
    return { version: event.version, parent: event.to_version, lineage, sha256: event.weights_sha256, trained: [] };
  }
  if (type !== 'StepCompleted') return undefined;
  const trained = event.trajectories.map(({ trajectory_id: id }) => id);
  return { version: event.version_after, parent: event.version_before, lineage, sha256: event.weights_sha256, trained };
}

/** A version and all its ancestors, newest first. */
export function chainOf(versions: readonly ChainVersion[], tip: ChainVersion): readonly ChainVersion[] {
  const known = new Map(versions.map((one) => [one.version, one]));
  const chain: ChainVersion[] = [];
  // a parent that is not older could make the loop endless
  for (let at: ChainVersion | undefined = tip; at !== undefined; at = at.parent < at.version ? known.get(at.parent) : undefined)
    chain.push(at);
  return chain;
}

/** Returns whether a rewind before ledger entry `sequence` abandoned a version. */
export function abandonedBy(rewinds: readonly FactOf<'RunRewound'>[], sequence: number): (version: number) => boolean {
  const before = rewinds.filter(({ event }) => event.sequence < sequence);
  return (version) => before.some(({ event }) => version > event.to_version && version < event.version);
}
