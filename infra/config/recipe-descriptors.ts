// Recipes and the rules of an episode; part of the table in descriptors.ts. What a recipe changes is in recipes.ts.

export const recipeDescriptors = {
  recipe: {
    env: 'TURNSTREAM_RECIPE',
    kind: 'choice',
    choices: ['asearcher', 'compact'],
    fallback: 'asearcher',
    help: 'Named defaults; a variable or flag that is set wins over them. asearcher: those of this table. compact: REINFORCE with a replay buffer, 200 turns, step rewards, three answers in a row to end, 16 trajectories at once, its own questions.',
  },
  stepReward: {
    env: 'TURNSTREAM_STEP_REWARD',
    kind: 'choice',
    choices: ['none', 'length'],
    fallback: 'none',
    help: 'What a turn is worth by itself; reinforce learns from it, grpo does not. length: min(characters of the tool result / 1000, 0.5), and -0.1 for a tool error.',
  },
  answersToEnd: {
    env: 'TURNSTREAM_ANSWERS_TO_END',
    kind: 'whole',
    min: 1,
    max: 1_000,
    fallback: 1,
    help: 'Answers in a row that end a trajectory; the last one given counts, also when a limit ended it.',
  },
} as const;
