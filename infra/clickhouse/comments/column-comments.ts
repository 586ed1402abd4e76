// What every column of every table and view holds, with its unit. An entry for one table says what differs there.
import { turnComments } from '../../../schemas/rollouts/turn.ts';
import type { Comments } from './comments.ts';
import { evaluations, evaluationsOf } from './evaluations.ts';
import { figuresByName } from './figures.ts';
import { identity, identityOf } from './identity.ts';
import { rollouts, rolloutsOf } from './rollouts.ts';
import { training, trainingOf } from './training.ts';

/** By the name of the column. */
export const byName: Comments = {
  ...turnComments,
  ...identity,
  ...rollouts,
  ...training,
  ...evaluations,
  ...figuresByName,
};

/** By table. */
export const byTable: Readonly<Record<string, Comments>> = merged([
  { turns: turnComments },
  identityOf,
  rolloutsOf,
  trainingOf,
  evaluationsOf,
]);

function merged(parts: readonly Readonly<Record<string, Comments>>[]): Readonly<Record<string, Comments>> {
  const tables: Record<string, Comments> = {};
  for (const part of parts) {
    for (const [table, comments] of Object.entries(part)) tables[table] = { ...tables[table], ...comments };
  }
  return tables;
}
