// Which series are drawn together.

export interface Chart {
  /** File name without its ending. */
  readonly name: string;
  readonly title: string;
  readonly lines: readonly { readonly series: string; readonly label: string }[];
  /** Series of the lower and upper edge of a band behind the lines. */
  readonly band?: readonly [string, string];
}

/** Mean and 95th percentile in front of a band from the least to the most. */
const spread = (name: string, title: string): Chart => ({
  name: name.replaceAll('_', '-'),
  title,
  lines: [
    { series: `${name}_mean`, label: 'mean' },
    { series: `${name}_p95`, label: 'p95' },
  ],
  band: [`${name}_min`, `${name}_max`],
});

const line = (series: string, label: string) => ({ series, label });

export const charts: readonly Chart[] = [
  spread('reward', 'Reward of a trajectory'),
  spread('f1', 'F1 of a trajectory'),
  spread('turns', 'Turns of a trajectory'),
  spread('tool_calls', 'Tool calls of a trajectory'),
  spread('searches', 'Searches of a trajectory'),
  spread('accesses', 'Pages opened by a trajectory'),
  spread('tokens', 'Tokens of a trajectory'),
  spread('completion_tokens', 'Generated tokens of a trajectory'),
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
  { name: 'kl', title: 'KL divergence', lines: [line('approx_kl', 'approx.'), line('behave_kl', 'behaviour')] },
  { name: 'gradient', title: 'Norm of the gradient', lines: [line('grad_norm', 'gradient')] },
  { name: 'time', title: 'Time of the trainer, ms', lines: [line('wait_ms', 'waiting'), line('train_ms', 'training')] },
];
