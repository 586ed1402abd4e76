// A chart: the series that are drawn together.

export interface Chart {
  /** File name without extension. */
  readonly name: string;
  readonly title: string;
  /** Unit of the points, if it differs from the other charts. */
  readonly unit?: string;
  readonly lines: readonly { readonly series: string; readonly label: string }[];
  /** Drawn behind the lines: the series of its lower and upper edge. */
  readonly band?: { readonly low: string; readonly high: string; readonly label: string };
}

const line = (series: string, label: string) => ({ series, label });

/** The interquartile range of a step's trajectories, because the extremes of large samples hardly vary. */
const middle = (name: string) => ({ low: `${name}_p25`, high: `${name}_p75`, label: 'middle half' });

/** Mean and 95th percentile. */
const meanAndMost = (name: string, title: string): Chart => ({
  name: name.replaceAll('_', '-'),
  title,
  lines: [line(`${name}_mean`, 'mean'), line(`${name}_p95`, 'p95')],
});

const spread = (name: string, title: string): Chart => ({ ...meanAndMost(name, title), band: middle(name) });

export const charts: readonly Chart[] = [
  {
    name: 'heldout',
    title: 'Held-out questions',
    unit: 'policy version',
    lines: [line('heldout_avg_f1', 'Avg@k F1'), line('heldout_avg_em', 'Avg@k EM'), line('heldout_pass_f1', 'Pass@k F1')],
    band: { low: 'heldout_avg_f1_low', high: 'heldout_avg_f1_high', label: '95 % interval' },
  },
  {
    name: 'reward',
    title: 'Reward of a trajectory',
    lines: [line('reward_mean', 'mean of trained groups'), line('reward_all_mean', 'mean of all finished')],
    band: { ...middle('reward'), label: 'middle half of trained groups' },
  },
  { name: 'f1', title: 'F1 of a trained trajectory', lines: [line('f1_mean', 'mean')], band: middle('f1') },
  spread('turns', 'Turns of a trajectory'),
  spread('tool_calls', 'Tool calls of a trajectory'),
  meanAndMost('searches', 'Searches of a trajectory'),
  meanAndMost('accesses', 'Pages opened by a trajectory'),
  spread('prompt_tokens', 'Prompt tokens of a trajectory'),
  spread('generated_tokens', 'Generated tokens of a trajectory'),
  {
    name: 'format-rate',
    title: 'Share of trajectories in the right format',
    lines: [line('format_rate', 'format rate'), line('em_mean', 'EM')],
  },
  {
    name: 'discards',
    title: 'Trajectories discarded while the step was made',
    lines: [line('discarded', 'all'), line('discarded_stale', 'too stale'), line('discarded_uniform', 'groups of equal rewards')],
  },
  {
    name: 'staleness',
    title: 'Staleness of a trajectory, versions',
    lines: [line('staleness_mean', 'mean'), line('staleness_p95', 'p95'), line('staleness_max', 'most')],
  },
  {
    name: 'staleness-by-cause',
    title: 'Staleness by cause, versions',
    lines: [line('staleness_in_flight_mean', 'in flight'), line('staleness_in_queue_mean', 'in queue')],
  },
  {
    name: 'staleness-of-tokens',
    title: 'Staleness of a token, versions',
    lines: [line('staleness_token_mean', 'mean'), line('staleness_token_p95', 'p95'), line('staleness_token_max', 'most')],
  },
  { name: 'entropy', title: 'Entropy', lines: [line('entropy', 'entropy')] },
  { name: 'kl', title: 'KL divergence', lines: [line('approx_kl', 'approx.'), line('behave_kl', 'behavior')] },
  { name: 'gradient', title: 'Norm of the gradient', lines: [line('grad_norm', 'gradient')] },
  { name: 'time', title: 'Time of the trainer, ms', lines: [line('wait_ms', 'waiting'), line('train_ms', 'training')] },
];
