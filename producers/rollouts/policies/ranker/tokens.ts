/** Estimates the tokens of a text for a policy without a tokenizer: one per four characters, rounded up. */
export const countTokens = (text: string): number => Math.ceil(text.length / 4);
