// Columns that are a statistic of another quantity: `tokens_p95`, `discarded_turns_mean`, `kept_reward_p50`, `reward_ks`.
import type { Comments } from './comments.ts';

/** Description of each quantity, with its unit if the name does not imply one. */
const QUANTITIES = {
  reward: 'reward',
  f1: 'F1, 0 to 1',
  turns: 'turns',
  tool_calls: 'tool calls',
  searches: 'searches',
  accesses: 'opened pages',
  tool_errors: 'failed tool calls',
  tokens: 'tokens',
  completion_tokens: 'completion tokens',
  prompt_tokens: 'prompt tokens',
  generated_tokens: 'generated tokens',
} as const;

type FigureQuantity = keyof typeof QUANTITIES;

const SHAPES = {
  mean: 'Mean',
  min: 'Minimum',
  max: 'Maximum',
  p25: '25th percentile',
  p50: 'Median',
  p75: '75th percentile',
  p95: '95th percentile',
} as const;
type FigureShape = keyof typeof SHAPES;

interface FigureColumns {
  readonly prefix: string;
  readonly of: readonly FigureQuantity[];
  readonly shapes: readonly FigureShape[];
  readonly trajectories: string;
}

function figures({ prefix, of, shapes, trajectories }: FigureColumns): Comments {
  return Object.fromEntries(
    of.flatMap((quantity) => {
      const [what, unit] = QUANTITIES[quantity].split(', ');
      return shapes.map((shape) => [
        `${prefix}${quantity}_${shape}`,
        `${SHAPES[shape]} of ${what} per trajectory, ${trajectories}${unit === undefined ? '' : `, ${unit}`}`,
      ]);
    }),
  );
}

/** Over the trajectories that a step trained on; the means in `steps` have their comments there. */
const ofStep = {
  ...figures({
    prefix: '',
    of: ['reward', 'f1', 'turns', 'tool_calls'],
    shapes: ['min', 'max', 'p95'],
    trajectories: 'over those of the step',
  }),
  ...figures({
    prefix: '',
    of: ['searches', 'accesses', 'tokens', 'completion_tokens'],
    shapes: ['mean', 'min', 'max', 'p95'],
    trajectories: 'over those of the step',
  }),
  ...figures({
    prefix: '',
    of: ['reward', 'f1', 'turns', 'tool_calls'],
    shapes: ['p25', 'p50', 'p75'],
    trajectories: 'over those of the step',
  }),
  ...figures({
    prefix: '',
    of: ['prompt_tokens', 'generated_tokens'],
    shapes: ['mean', 'p25', 'p50', 'p75', 'p95'],
    trajectories: 'over those of the step',
  }),
  reward_all_mean: 'Mean reward over all finished trajectories, trained on or not',
  tool_errors_mean: 'Mean of failed tool calls per trajectory, over those of the step',
  format_rate: 'Share of trajectories in the required format, 0 to 1',
  discarded_stale: 'Trajectories that were discarded as stale',
  discarded_uniform: 'Trajectories that were discarded because all rewards in their group are equal',
};

function side(prefix: 'kept' | 'discarded', trajectories: string): Comments {
  return {
    ...figures({
      prefix: `${prefix}_`,
      of: ['reward', 'turns', 'tokens'],
      shapes: ['mean', 'p50', 'p95'],
      trajectories,
    }),
    [`${prefix}_staleness_mean`]: `Mean of staleness_total, ${trajectories}, versions`,
    [`${prefix}_flight_ms_mean`]: `Mean of flight_ms, ${trajectories}, ms`,
  };
}

const distance = (quantity: string): string =>
  `Kolmogorov-Smirnov distance of ${quantity} between kept and discarded, 0 to 1; null if one side is empty`;

export const figuresByName: Comments = {
  ...ofStep,
  ...side('kept', 'over the kept ones'),
  ...side('discarded', 'over the discarded ones'),
  kept: 'Trajectories that were trained on',
  discarded_queue_ms_mean: 'Mean of queue_ms, over the discarded ones, ms',
  discarded_staleness_in_flight_mean: 'Mean of staleness_in_flight, over the discarded ones, versions',
  discarded_staleness_in_queue_mean: 'Mean of staleness_in_queue, over the discarded ones, versions',
  discarded_staleness_token_mean: 'Mean staleness over the tokens with a known version, over the discarded ones, versions',
  discarded_staleness_worst: 'Greatest staleness_worst of a discarded trajectory, versions',
  discarded_tokens: 'Tokens of the discarded trajectories',
  discarded_unknown_tokens: 'Tokens of the discarded trajectories whose policy version is unknown',
  reward_ks: distance('rewards'),
  turns_ks: distance('turns'),
  tokens_ks: distance('tokens'),
};
