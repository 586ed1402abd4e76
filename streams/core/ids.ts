// Ids are parsed once, at the boundary; the code behind the boundary uses the branded type.
declare const brand: unique symbol;
type Brand<T, Name> = T & { readonly [brand]: Name };

export type RunId = Brand<string, 'RunId'>;

const RUN = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** A run id is a slug of at most 63 characters: lowercase letters, digits and hyphens. */
export function parseRunId(raw: string): RunId | undefined {
  return RUN.test(raw) ? (raw as RunId) : undefined;
}

/** `<group_id>.<sample>` */
export const trajectoryId = (groupId: string, sample: number): string => `${groupId}.${sample}`;

/** Group id of a trajectory id; the id itself when it has no sample number. */
export function groupIdOf(id: string): string {
  const dot = id.lastIndexOf('.');
  return dot < 0 ? id : id.slice(0, dot);
}

/** Event id of a rollout event: `<trajectory_id>/<attempt>/<sequence>`. */
export const rolloutEventId = (id: string, attempt: number, sequence: number): string => `${id}/${attempt}/${sequence}`;

/** Event id of a ledger entry. */
export const ledgerEventId = (runId: string, sequence: number): string => `${runId}/ledger/${sequence}`;
