import type { Scorer, TrainingTurn } from '../../streams/core/learning.ts';
import { loadBackend, type BackendName } from '../tfjs/backend.ts';
import { packBatch } from '../tfjs/decisions.ts';
import { hyperOf } from '../tfjs/hyper.ts';
import { createScorerFactory } from '../tfjs/scorer.ts';
import { createUpdater } from '../tfjs/updater.ts';
import { seeded } from './events.ts';
import type { Random } from '../../streams/core/random.ts';
import { architecture, weightsOf, uniform } from './tensor-batches.ts';

const CANDIDATES = 5;

/** Plays a bandit whose best candidate has the largest first feature; returns the mean success rates of the first and last five steps. */
export async function playBandit(
  name: BackendName,
  { algorithm, learningRate }: { readonly algorithm: 'grpo' | 'reinforce'; readonly learningRate: number },
): Promise<{ readonly first: number; readonly last: number }> {
  const backend = await loadBackend(name);
  const updater = createUpdater({ backend, architecture, hyper: hyperOf(algorithm, learningRate) });
  const factory = createScorerFactory(backend);
  const random = seeded(11);
  let checkpoint = updater.initial(5);
  const success: number[] = [];
  for (let step = 1; step <= 45; step += 1) {
    const scorer = factory.load(weightsOf(checkpoint));
    const rounds = await Promise.all(Array.from({ length: 64 }, () => playRound(scorer, random)));
    scorer.dispose();
    const mean = rounds.reduce((sum, round) => sum + round.reward, 0) / rounds.length;
    success.push(mean);
    const packed = packBatch(
      {
        step,
        trajectories: rounds.map((turn, i) => ({
          trajectoryId: `${i}`,
          reward: turn.reward,
          advantage: turn.reward - mean,
          turns: [turn],
        })),
      },
      architecture.inputs,
      ({ reward, advantage }) => [algorithm === 'grpo' ? advantage : reward],
    );
    checkpoint = updater.train(packed);
  }
  const average = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return { first: average(success.slice(0, 5)), last: average(success.slice(-5)) };
}

async function playRound(scorer: Scorer, random: Random): Promise<TrainingTurn> {
  const features = Float32Array.from({ length: CANDIDATES * architecture.inputs }, () => uniform(random));
  const draw = random();
  const logits = await scorer.score(features, CANDIDATES);
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  const probabilities = Array.from(logits, (logit) => Math.exp(logit) / total);
  let rest = draw;
  const found = probabilities.findIndex((probability) => (rest -= probability) < 0);
  const chosen = found < 0 ? CANDIDATES - 1 : found;
  const quality = Array.from({ length: CANDIDATES }, (_, i) => features[i * architecture.inputs]!);
  return {
    features: Buffer.from(features.buffer),
    candidates: CANDIDATES,
    width: architecture.inputs,
    chosen,
    logprob: Math.log(probabilities[chosen]!),
    version: 0,
    reward: quality[chosen] === Math.max(...quality) ? 1 : 0,
  };
}
