// The entropy bonus of an update. It has no state: it follows from the entropy before the update, which follows from the checkpoint and the
// batch, so that a restarted or replayed run has the same bonus.
import type { Hyper } from './hyper.ts';

/** Largest factor of the bonus; without a bound, a policy without entropy would have an infinite one. */
export const MAX_FACTOR = 10;

type EntropyRules = Pick<Hyper, 'entropyBonus' | 'entropyTarget'>;

/** The bonus per nat for a policy with this mean entropy, nats: below the target, it grows in proportion to target / entropy. */
export function entropyBonusAt(entropy: number, { entropyBonus, entropyTarget }: EntropyRules): number {
  if (!(entropy < entropyTarget)) return entropyBonus;
  return entropyBonus * Math.min(MAX_FACTOR, entropyTarget / Math.max(entropy, Number.MIN_VALUE));
}

/** The same engine with the bonus of an update that starts with this entropy. */
export const withBonusAt = <E extends { readonly hyper: Hyper }>(engine: E, entropy: number): E => ({
  ...engine,
  hyper: { ...engine.hyper, entropyBonus: entropyBonusAt(entropy, engine.hyper) },
});
