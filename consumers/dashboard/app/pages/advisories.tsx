// Advisories of a run, each with a link to the evidence.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import { usePolled } from '../data/polled.ts';
import type { ApiAdvisory } from '../data/watch-shapes.ts';
import { Text } from '../kit/parts.tsx';
import { RunPage, runUrl } from '../kit/run-page.tsx';
import { Empty, Waiting } from '../kit/states.tsx';
import { visible } from '../kit/visible.ts';
import type { PatternParts } from '../shell/patterns.ts';

const marks: Readonly<Record<string, readonly [string, string]>> = { alarm: ['bad', '✕'], warning: ['warn', '△'], advice: ['plain', '·'] };

export function Advisories({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  const url = runUrl(run, '/advisories');
  const shown = useAnswer<{ readonly items: readonly ApiAdvisory[] }>(url);
  useLive({ run, types: ['StepCompleted', 'TrajectoryExpired', 'RunFinished', 'RunContinued'], refreshes: [url] });
  usePolled(url);
  return (
    <RunPage run={run} title="Advisories">
      <p class="note">
        Rules over the steps, tools, and workers of the run. Programs can read the same at{' '}
        <code>GET /v1/runs/{visible(run)}/advisories</code>, and terminals with <code>turnstream status --run {visible(run)}</code>.
      </p>
      <Waiting shown={shown} of="the advisories">
        {({ items }) => (items.length === 0 ? <Empty>No advisories: no rule applies to this run.</Empty> : <Findings items={items} />)}
      </Waiting>
    </RunPage>
  );
}

/** The advisories of a run; nothing if there are none. */
export function AdvisoryLine({ run }: { readonly run: string }): JSX.Element | null {
  const { value } = useAnswer<{ readonly items: readonly ApiAdvisory[] }>(runUrl(run, '/advisories'));
  return value === undefined || value.items.length === 0 ? null : (
    <section aria-label="Advisories" class="advisories">
      <Findings items={value.items.slice(0, 4)} />
      {value.items.length > 4 && <a href={`/runs/${encodeURIComponent(run)}/advisories`}>All {value.items.length} advisories</a>}
    </section>
  );
}

const Findings = ({ items }: { readonly items: readonly ApiAdvisory[] }): JSX.Element => (
  <ul class="findings">
    {items.map(({ rule, severity, title, detail, page, sql }) => (
      <li key={`${rule} ${title}${detail}`} class={marks[severity]?.[0] ?? 'plain'}>
        <span aria-hidden="true">{marks[severity]?.[1]}</span> <b>{severity}</b> <Text>{title}</Text>. <Text>{detail}</Text>{' '}
        {page.startsWith('/runs/') && <a href={page}>Look</a>} <a href={`/sql?q=${encodeURIComponent(sql)}`}>Evidence</a>
      </li>
    ))}
  </ul>
);
