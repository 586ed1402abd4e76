// Allowed values of columns, for filter parameters: any other value is refused by name.

export const purposes = ['train', 'eval', 'external'] as const;
export type Purpose = (typeof purposes)[number];
/** recorded: the run has events but no ledger. */
export const runStatuses = ['running', 'finished', 'recorded'] as const;
export const trajectoryStatuses = ['answered', 'max_turns', 'max_tokens', 'timeout', 'cancelled', 'failed', 'refused'] as const;
/** Of an attempt, as the ledger has it. `lost`: given up and not decided since; `open`: no entry about its end. */
export const trajectoryFates = ['trained', 'collected', 'discarded', 'lost', 'open'] as const;
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

/** The largest value of the columns of steps, versions, and attempts. */
export const MOST_INT32 = 2_147_483_647;
