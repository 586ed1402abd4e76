import type { PolicyWeights, Scorer, ScorerFactory } from '../../../streams/core/learning.ts';

/** A scorer whose tensors are released once it is retired and no decision uses it anymore. */
export interface HeldScorer {
  /** Always usable: a call after retirement loads the weights for the duration of the call. `dispose` does nothing. */
  readonly scorer: Scorer;
  retire(): void;
}

/** Loads the weights at once, so that unusable ones are refused here and not in the middle of a trajectory. */
export function holdScorer(factory: ScorerFactory, weights: PolicyWeights): HeldScorer {
  let loaded: Scorer | undefined = factory.load(weights);
  let calls = 0;
  let retired = false;

  function disposeWhenUnused(): void {
    if (!retired || calls > 0) return;
    loaded?.dispose();
    loaded = undefined;
  }

  return {
    scorer: {
      async score(features, candidates) {
        loaded ??= factory.load(weights);
        calls += 1;
        try {
          return await loaded.score(features, candidates);
        } finally {
          calls -= 1;
          disposeWhenUnused();
        }
      },
      dispose: () => undefined,
    },
    retire() {
      retired = true;
      disposeWhenUnused();
    },
  };
}
