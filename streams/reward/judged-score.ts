/** The score of an answer with the verdict of a judge in it: `share` of it is the verdict, 1 for a correct answer, and the rest the score. */
export const judgedScore = (score: number, { correct, share }: { readonly correct: boolean; readonly share: number }): number =>
  (1 - share) * score + share * (correct ? 1 : 0);
