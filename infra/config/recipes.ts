// Recipes: named sets of settings. They replace the defaults; environment variables and flags override them.
import type { Config } from './descriptors.ts';

type RecipeSettings = Partial<Omit<Config, 'recipe'>>;

const recipes: Readonly<Record<Config['recipe'], RecipeSettings>> = {
  asearcher: {},
  // Discount 0.99, AdamW, gradient clip 1.0, a buffer of 100,000 trajectories, and ten batches of 128 with one optimizer step each come
  // from the algorithm.
  compact: {
    algorithm: 'reinforce',
    learningRate: 0.00001,
    entropyBonus: 0,
    maxTurns: 200,
    // enough for ten pages per turn, so that the number of turns is the limit
    maxTokens: 10_000_000,
    stepReward: 'length',
    answersToEnd: 3,
    // 128 trajectories per iteration (16 groups of 8), 16 at a time
    batchGroups: 16,
    workerConcurrency: 16,
    dataset: 'compact',
    evalMaxTurns: 150,
  },
  // The same algorithm with the same batches and rounds; docs/guides/compact-recipe.md explains every other difference.
  'compact-tuned': {
    algorithm: 'reinforce',
    learningRate: 0.01,
    entropyBonus: 0.01,
    replayTrajectories: 256,
    workerConcurrency: 16,
  },
};

const isRecipe = (name: string): name is Config['recipe'] => Object.hasOwn(recipes, name);

/** The defaults that a recipe replaces; empty for an unknown name. */
export const recipeOf = (name: string): RecipeSettings => (isRecipe(name) ? recipes[name] : {});
