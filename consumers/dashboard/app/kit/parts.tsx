// Small components that every page uses.
import type { ComponentChildren, JSX } from 'preact';
import { signal } from '@preact/signals';
import { place } from '../shell/place.ts';
import { age, figure } from './format.ts';
import { visible } from './visible.ts';

/** Updated every ten seconds, so that ages stay correct. */
const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 10_000);

/** True to show exact times instead of ages. */
export const exactTimes = signal(false);

/** An age with the exact time on hover, or the other way around. */
export function When({ at }: { readonly at: string | null | undefined }): JSX.Element {
  const old = age(at, now.value);
  const isExact = exactTimes.value && typeof at === 'string';
  return (
    <time dateTime={at ?? ''} title={isExact ? old : (at ?? 'not recorded')}>
      {isExact ? at.slice(0, 19).replace('T', ' ') : old}
    </time>
  );
}

/** A text from the log, displayed as plain text. */
export const Text = ({ children, title }: { readonly children: string; readonly title?: boolean }): JSX.Element => (
  <bdi title={title === true ? visible(children).slice(0, 2_000) : undefined}>{visible(children)}</bdi>
);

type Tone = 'good' | 'bad' | 'warn' | 'plain' | 'live';

const tones: Readonly<Record<string, Tone>> = {
  running: 'live',
  trained: 'good',
  collected: 'good',
  finished: 'good',
  completed: 'good',
  always: 'good',
  flips: 'warn',
  never: 'bad',
  max_turns: 'warn',
  max_tokens: 'warn',
  answered: 'good',
  ok: 'good',
  intact: 'good',
  incomplete: 'warn',
  broken: 'bad',
  discarded: 'warn',
  lost: 'bad',
  expired: 'warn',
  refused: 'warn',
  cancelled: 'warn',
  error: 'bad',
  failed: 'bad',
  timeout: 'bad',
};
const marks: Readonly<Record<Tone, string>> = { good: '✓', bad: '✕', warn: '△', plain: '·', live: '●' };

/** A state, shown by color and symbol. */
export function Badge({ state, note = '' }: { readonly state: string; readonly note?: string }): JSX.Element {
  const tone = tones[state] ?? 'plain';
  return (
    <span class={`badge ${tone}`}>
      <span aria-hidden="true">{marks[tone]}</span> <Text>{state === '' ? '–' : state}</Text>
      {note !== '' && <i> {visible(note)}</i>}
    </span>
  );
}

export const Stat = (props: { readonly name: string; readonly value: unknown; readonly note?: ComponentChildren }): JSX.Element => (
  <div class="stat">
    <dt>{props.name}</dt>
    <dd>
      {typeof props.value === 'string' ? props.value : figure(props.value)}
      {props.note !== undefined && <small>{props.note}</small>}
    </dd>
  </div>
);

/** A bar of two parts that add up to a whole. */
export const Share = ({ part, whole, label }: { readonly part: number; readonly whole: number; readonly label: string }): JSX.Element => (
  <svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={label}>
    <rect width="100" height="8" class="rest" />
    <rect width={whole > 0 ? (100 * part) / whole : 0} height="8" class="part" />
  </svg>
);

/** A sparkline, scaled to its minimum and maximum. */
export function Spark({ values, label }: { readonly values: readonly (number | null)[]; readonly label: string }): JSX.Element {
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const points = values.flatMap((value, at) =>
    value === null ? [] : [`${(100 * at) / Math.max(1, values.length - 1)},${18 - (16 * (value - low)) / (high - low || 1)}`],
  );
  return (
    <svg class="spark" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" aria-label={label}>
      {points.length > 1 && <polyline points={points.join(' ')} vector-effect="non-scaling-stroke" />}
    </svg>
  );
}

/** The pages of one run. */
export function RunTabs({ run }: { readonly run: string }): JSX.Element {
  const base = `/runs/${encodeURIComponent(run)}`;
  const here = place.value.pathname;
  const tabs: readonly (readonly [string, string])[] = [
    [base, 'Overview'],
    [`${base}/curves`, 'Curves'],
    [`${base}/steps`, 'Steps'],
    [`${base}/trajectories`, 'Trajectories'],
    [`${base}/flow`, 'Flow'],
    [`${base}/dropped`, 'Dropped'],
    [`${base}/questions`, 'Questions'],
    [`${base}/tools`, 'Tools'],
    [`${base}/workers`, 'Workers'],
    [`${base}/ledger`, 'Ledger'],
    [`${base}/advisories`, 'Advisories'],
  ];
  const current = (path: string): boolean =>
    here === path || (path !== base && here.startsWith(`${path}/`)) || (path.endsWith('/trajectories') && here.startsWith(`${base}/t/`));
  return (
    <nav class="tabs" aria-label="Pages of the run">
      {tabs.map(([path, name]) => (
        <a key={path} href={path} aria-current={current(path) ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}
