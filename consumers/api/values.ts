// Values that a column can have, for parameters that filter by it: any other is refused by name.

export const purposes = ['train', 'eval', 'external'] as const;
export type Purpose = (typeof purposes)[number];
/** recorded: it has events and no ledger. */
export const runStatuses = ['running', 'finished', 'recorded'] as const;
export const trajectoryStatuses = ['answered', 'max_turns', 'max_tokens', 'timeout', 'cancelled', 'failed', 'refused'] as const;
export const toolStatuses = ['ok', 'error', 'timeout', 'refused'] as const;
export const deadLetterReasons = [
  'empty',
  'not_framed',
  'unknown_schema',
  'incompatible_schema',
  'undecodable',
  'wrong_topic',
  'refused',
] as const;
