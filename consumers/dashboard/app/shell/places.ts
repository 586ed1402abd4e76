// The destinations of a text that is typed into the palette.
import { address } from './patterns.ts';

export interface Destination {
  readonly name: string;
  readonly to: string;
}

const MOST = 20;
/** The names that a run may have. */
const SLUG = /^[a-z0-9][a-z0-9-]{0,62}$/;

const pageOfRun = (run: string): Destination => ({ name: `Run ${run}`, to: address('/runs/:run', { run }) });

const pagesOfRun = (run: string): readonly Destination[] => [
  { name: `Overview of ${run}`, to: address('/runs/:run', { run }) },
  { name: `Curves of ${run}`, to: address('/runs/:run/curves', { run }) },
  { name: `Steps of ${run}`, to: address('/runs/:run/steps', { run }) },
  { name: `Trajectories of ${run}`, to: address('/runs/:run/trajectories', { run }) },
  { name: `Flow of ${run}`, to: address('/runs/:run/flow', { run }) },
  { name: `Kept against dropped in ${run}`, to: address('/runs/:run/dropped', { run }) },
  { name: `Questions of ${run}`, to: address('/runs/:run/questions', { run }) },
  { name: `Tools of ${run}`, to: address('/runs/:run/tools', { run }) },
  { name: `Workers of ${run}`, to: address('/runs/:run/workers', { run }) },
  { name: `Ledger of ${run}`, to: address('/runs/:run/ledger', { run }) },
  { name: `Advisories of ${run}`, to: address('/runs/:run/advisories', { run }) },
];

const unknownRun = (text: string, known: readonly string[]): readonly Destination[] =>
  SLUG.test(text) && !known.includes(text) ? [pageOfRun(text)] : [];

/** Pages, runs, steps, and trajectories that match a text, best match first; last, a run of that name that is not among the known ones. */
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
    ...(run === undefined ? [] : pagesOfRun(run)),
    { name: 'Runs', to: '/' },
    { name: 'Compare runs', to: run === undefined ? '/compare' : address('/compare', {}, { runs: run }) },
    { name: 'Evaluations', to: '/evaluations' },
    { name: 'Live', to: '/live' },
    { name: 'Search', to: address('/search', {}, { run }) },
    { name: 'SQL', to: '/sql' },
    { name: 'Dead letters', to: '/dead-letters' },
    ...runs.filter((one) => one !== run).map(pageOfRun),
  ];
  // anything else is offered as a text search
  if (run !== undefined && text.length > 2 && found.length === 0)
    pages.push({ name: `Search the texts of ${run} for ${text}`, to: address('/search', {}, { run, q: text }) });
  const words = text.toLowerCase().split(/\s+/);
  const matching = [...found, ...pages.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))];
  const unknown = unknownRun(text, [...runs, run ?? '']);
  return [...matching.slice(0, MOST - unknown.length), ...unknown];
}
