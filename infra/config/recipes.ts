// Recipes: named sets of settings. They stand in for the defaults, below variables and flags.
import type { Config } from './descriptors.ts';

type Settings = Partial<Omit<Config, 'recipe'>>;

const recipes: Readonly<Record<Config['recipe'], Settings>> = {
  asearcher: {},
  // Discount 0.99, AdamW, gradient clip 1.0, the buffer of 100,000 trajectories, and ten batches of 128 with an optimizer step
  // each are those of the algorithm.
  compact: {
    algorithm: 'reinforce',
    learningRate: 0.00001,
    entropyBonus: 0,
    maxTurns: 200,
    // ten pages' worth a turn: the turns are the limit
    maxTokens: 10_000_000,
    stepReward: 'length',
    answersToEnd: 3,
    // 128 trajectories an iteration, by 16 at once
    batchGroups: 16,
    workerConcurrency: 16,
    dataset: 'compact',
    evalMaxTurns: 150,
  },
  // The same algorithm with the same batches and rounds; docs/guides/compact-recipe.md says why each of the others differs.
  'compact-tuned': {
    algorithm: 'reinforce',
    learningRate: 0.01,
    entropyBonus: 0.01,
    replayTrajectories: 256,
    workerConcurrency: 16,
  },
};

const isRecipe = (name: string): name is Config['recipe'] => Object.hasOwn(recipes, name);

/** What a recipe has in place of the defaults; nothing for a name that is none. */
export const recipeOf = (name: string): Settings => (isRecipe(name) ? recipes[name] : {});
