// Steps of a run in order, newest first.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLive } from '../data/live.ts';
import type { ApiStep } from '../data/shapes.ts';
import { duration, figure, since } from '../kit/format.ts';
import { RunTabs, When } from '../kit/parts.tsx';
import { useRowKeys } from '../kit/row-keys.ts';
import { Empty, Failed, Loading } from '../kit/states.tsx';
import { address, type PatternParts } from '../shell/patterns.ts';
import { useTitle } from '../shell/title.ts';
import { usePages } from './pages-of.ts';

const columns = [
  'Reward',
  'F1',
  'Turns',
  'Trajectories',
  'Tokens',
  'Stale mean',
  'Stale max',
  'Loss',
  'Entropy',
  'Clipped',
  'Waited',
  'Trained',
] as const;

export function Steps({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  useTitle(`Steps of ${run}`);
  const pages = usePages<ApiStep>(`/v1/runs/${encodeURIComponent(run)}/steps?order=desc&limit=100`);
  const [news, setNews] = useState(0);
  useLive({ run, types: ['StepCompleted'], onEvent: () => setNews((count) => count + 1), onGap: () => setNews(Infinity) });
  const linkOf = (step: string): string => address('/runs/:run/steps/:step', { run, step });
  const selected = useRowKeys(
    'Steps',
    pages.items.map(({ step }) => String(step)),
    linkOf,
  );
  const showNews = (): void => {
    setNews(0);
    pages.again();
  };
  return (
    <>
      <div class="head">
        <h1>Steps</h1>
        {news > 0 && (
          <button type="button" class="chip live" onClick={showNews}>
            {since(news)} since: show
          </button>
        )}
      </div>
      <RunTabs run={run} />
      {pages.problem !== undefined && <Failed problem={pages.problem} />}
      {pages.items.length === 0 &&
        (pages.loading ? <Loading of="the steps" /> : pages.problem === undefined && <Empty>No step is trained yet.</Empty>)}
      {pages.items.length > 0 && (
        <div class="scroller" tabIndex={0} role="region" aria-label="Steps">
          <table>
            <thead>
              <tr>
                <th>Step</th>
                {columns.map((name) => (
                  <th key={name} class="number">
                    {name}
                  </th>
                ))}
                <th>When</th>
              </tr>
            </thead>
            <tbody>
              {pages.items.map((step) => (
                <tr key={step.step} aria-selected={selected === String(step.step)}>
                  <td>
                    <a href={linkOf(String(step.step))}>{step.step}</a>
                  </td>
                  {[
                    step.reward_mean,
                    step.f1_mean,
                    step.turns_mean,
                    step.trajectories,
                    step.tokens,
                    step.staleness_mean,
                    step.staleness_max,
                  ].map((value, at) => (
                    <td key={columns[at]} class="number">
                      {figure(value)}
                    </td>
                  ))}
                  <td class="number">{figure(step.loss)}</td>
                  <td class="number">{figure(step.entropy)}</td>
                  <td class="number">{figure(step.clip_fraction)}</td>
                  <td class="number">{duration(step.wait_ms)}</td>
                  <td class="number">{duration(step.train_ms)}</td>
                  <td>
                    <When at={step.at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {!pages.isWhole && (
            <button type="button" class="chip" onClick={pages.more}>
              Earlier steps
            </button>
          )}
        </div>
      )}
    </>
  );
}
