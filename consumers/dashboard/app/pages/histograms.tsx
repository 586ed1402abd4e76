// Distributions of reward, advantage, turns, and tokens over a range of steps, with discards stacked on what was trained on.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import { figure } from '../kit/format.ts';
import { runUrl } from '../kit/run-page.tsx';
import { Empty, Waiting } from '../kit/states.tsx';
import { stacksOf, type ApiHistogram } from './stacks.ts';

interface HistogramsProps {
  readonly run: string;
  readonly from: number | undefined;
  readonly to: number | undefined;
}

export function Histograms({ run, from, to }: HistogramsProps): JSX.Element {
  const range = `${from === undefined ? '' : `&from_step=${from}`}${to === undefined ? '' : `&to_step=${to}`}`;
  const url = runUrl(run, `/outcomes/histogram?of=reward,advantage,turns,tokens${range}`);
  const shown = useAnswer<{ readonly items: readonly ApiHistogram[] }>(url);
  return (
    <section aria-label="Distributions">
      <h2>Distributions</h2>
      <Waiting shown={shown} of="the distributions">
        {({ items }) =>
          items.length === 0 ? (
            <Empty>Nothing in this range has been trained or discarded yet.</Empty>
          ) : (
            <div class="columns">
              {items.map((one) => (
                <HistogramOf key={one.figure} of={one} />
              ))}
            </div>
          )
        }
      </Waiting>
    </section>
  );
}

/** One SVG path for trained samples and one for discards, so that the number of nodes does not depend on the number of bins. */
function HistogramOf({ of }: { readonly of: ApiHistogram }): JSX.Element {
  const { kept, discarded, most, total, bins } = stacksOf(of);
  const high = of.low + of.width * bins;
  const path = (from: (at: number) => number, to: (at: number) => number): string =>
    Array.from({ length: bins }, (_, at) => {
      const [top, bottom] = [40 - (40 * to(at)) / most, 40 - (40 * from(at)) / most];
      return top === bottom ? '' : `M${at},${bottom}V${top}H${at + 0.9}V${bottom}Z`;
    }).join('');
  const label = `${of.figure} from ${figure(of.low)} to ${figure(high)}: ${figure(total.kept)} trained, ${figure(total.discarded)} discarded`;
  return (
    <section class="histogram">
      <h3>
        {of.figure}{' '}
        <small>
          {figure(total.kept)} trained{total.discarded > 0 && `, ${figure(total.discarded)} discarded`}
        </small>
      </h3>
      <svg viewBox={`0 0 ${bins} 40`} preserveAspectRatio="none" role="img" aria-label={label}>
        <path
          class="kept"
          d={path(
            () => 0,
            (at) => kept[at] ?? 0,
          )}
        />
        <path
          class="discarded"
          d={path(
            (at) => kept[at] ?? 0,
            (at) => (kept[at] ?? 0) + (discarded[at] ?? 0),
          )}
        />
      </svg>
      <p class="note">
        {figure(of.low)} to {figure(high)}, a bar is {figure(of.width)} wide, the highest has {figure(most)}
      </p>
    </section>
  );
}
