// Where what somebody types could lead.
import { address } from './patterns.ts';

export interface Destination {
  readonly name: string;
  readonly to: string;
}

const MOST = 12;

/** Pages, runs, steps, and trajectories that fit a text, likeliest first. */
export function placesFor(
  typed: string,
  { run, runs }: { readonly run: string | undefined; readonly runs: readonly string[] },
): readonly Destination[] {
  const text = typed.trim();
  const found: Destination[] = [];
  const step = /^(?:step )?(\d+)$/i.exec(text)?.[1];
  if (run !== undefined && step !== undefined)
    found.push({ name: `Step ${step} of ${run}`, to: address('/runs/:run/steps/:step', { run, step }) });
  const owner = runs.filter((one) => text.startsWith(`${one}-g`)).sort((a, b) => b.length - a.length)[0] ?? run;
  if (owner !== undefined && /\.\d+$/.test(text)) {
    found.push({ name: `Trajectory ${text}`, to: address('/runs/:run/t/:trajectory', { run: owner, trajectory: text }) });
  }
  const pages: Destination[] = [
    ...(run === undefined
      ? []
      : [
          { name: `Overview of ${run}`, to: address('/runs/:run', { run }) },
          { name: `Curves of ${run}`, to: address('/runs/:run/curves', { run }) },
          { name: `Steps of ${run}`, to: address('/runs/:run/steps', { run }) },
          { name: `Trajectories of ${run}`, to: address('/runs/:run/trajectories', { run }) },
        ]),
    { name: 'Runs', to: '/' },
    { name: 'SQL', to: '/sql' },
    ...runs.filter((one) => one !== run).map((one) => ({ name: `Run ${one}`, to: address('/runs/:run', { run: one }) })),
  ];
  const words = text.toLowerCase().split(/\s+/);
  return [...found, ...pages.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))].slice(0, MOST);
}
