/** Blends a judge's verdict into the score of an answer: `share` of the verdict (1 for correct, else 0), and the rest from the score. */
export const judgedScore = (score: number, { correct, share }: { readonly correct: boolean; readonly share: number }): number =>
  (1 - share) * score + share * (correct ? 1 : 0);
