// The result of a statement as a line chart: one column is the axis, any other numeric column can be a line. The choice is in the address.
import type { JSX } from 'preact';
import { figure } from '../kit/format.ts';
import { Empty } from '../kit/states.tsx';
import { visible } from '../kit/visible.ts';
import { change, parameter } from '../shell/place.ts';
import { chartOf, linesOf, type SqlResult } from './sql-result.ts';

const [WIDE, HIGH] = [1_000, 260] as const;

export function SqlChart({ result }: { readonly result: SqlResult }): JSX.Element {
  const { axes, axis, lines, shown } = linesOf(result, { x: parameter('x'), y: parameter('y') });
  if (axis === undefined || lines.length === 0) return <Empty>A chart needs a column of numbers. The table shows every column.</Empty>;
  const chart = chartOf(result, axis, shown);
  const toggle = (name: string): void => {
    const next = lines.filter((one) => (one === name ? !shown.includes(one) : shown.includes(one)));
    change({ y: next.length === 0 ? undefined : next.join(',') });
  };
  return (
    <figure class="chart">
      <figcaption class="chips">
        <label class="inline">
          over
          <select value={axis} onChange={(event) => change({ x: event.currentTarget.value })}>
            {axes.map((name) => (
              <option key={name} value={name}>
                {visible(name)}
              </option>
            ))}
          </select>
        </label>
        {lines.map((name) => (
          <button
            key={name}
            type="button"
            class={`chip line-${(shown.indexOf(name) % 4) + 1}`}
            aria-pressed={shown.includes(name)}
            onClick={() => toggle(name)}
          >
            {visible(name)}
          </button>
        ))}
      </figcaption>
      <svg
        class="sql-chart"
        viewBox={`0 0 ${WIDE} ${HIGH}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${visible(shown.join(', '))} over ${visible(axis)}, from ${figure(chart.low)} to ${figure(chart.high)}`}
      >
        {chart.lines.map(({ name, points }, at) => (
          <polyline
            key={name}
            class={`line-${(at % 4) + 1}`}
            points={points.map(([x, y]) => `${(x * WIDE).toFixed(1)},${(HIGH - y * HIGH).toFixed(1)}`).join(' ')}
            vector-effect="non-scaling-stroke"
          />
        ))}
      </svg>
      <p class="note">
        {figure(chart.low)} to {figure(chart.high)}, over {visible(axis)} from {visible(chart.first)} to {visible(chart.last)}
      </p>
    </figure>
  );
}
