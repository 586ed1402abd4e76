// The tools of a run over time: calls, failures, and latencies per time span; outages; and errors by type.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { drawWeather } from '../charts/weather.ts';
import { useAnswer } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import type { ApiTool } from '../data/shapes.ts';
import type { ApiOutage, ApiToolSpan, ApiWeather } from '../data/watch-shapes.ts';
import { duration, figure, percent } from '../kit/format.ts';
import { Badge, Text } from '../kit/parts.tsx';
import { RunPage, runUrl } from '../kit/run-page.tsx';
import { NotRecorded, Waiting } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { visible } from '../kit/visible.ts';
import { address, type PatternParts } from '../shell/patterns.ts';

interface ApiToolError {
  readonly tool: string;
  readonly error_type: string;
  readonly status: string;
  readonly calls: number;
}

export function Tools({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  const weather = useAnswer<ApiWeather>(runUrl(run, '/tools/series?points=200'));
  const tools = useAnswer<{ readonly items: readonly ApiTool[]; readonly error_types: readonly ApiToolError[] }>(runUrl(run, '/tools'));
  useLive({ run, types: ['StepCompleted'], refreshes: [runUrl(run, '/tools')] });
  return (
    <RunPage run={run} title="Tools">
      <Waiting shown={weather} of="the calls over time">
        {(value) =>
          value.items.length === 0 ? <NotRecorded>No turn of this run called a tool.</NotRecorded> : <Sky run={run} weather={value} />
        }
      </Waiting>
      <Waiting shown={tools} of="the tools">
        {({ items, error_types }) => (
          <div class="columns">
            <section>
              <h2>Whole run</h2>
              <Table label="Tools" rows={items} columns={toolColumns(run)} keyOf={({ tool }) => tool} />
            </section>
            <section>
              <h2>Errors</h2>
              {error_types.length === 0 ? (
                <p class="note">No call failed.</p>
              ) : (
                <Table
                  label="Errors"
                  rows={error_types}
                  columns={errorColumns(run)}
                  keyOf={(row) => `${row.tool} ${row.error_type} ${row.status}`}
                />
              )}
            </section>
          </div>
        )}
      </Waiting>
    </RunPage>
  );
}

const toolColumns = (run: string): readonly TableColumn<ApiTool>[] => [
  {
    name: 'Tool',
    of: ({ tool }) => (
      <a href={address('/runs/:run/tools/:tool', { run, tool })}>
        <Text>{tool}</Text>
      </a>
    ),
  },
  { name: 'Calls', number: true, of: ({ calls }) => figure(calls) },
  { name: 'Failed', number: true, of: ({ failure_rate }) => percent(failure_rate) },
  { name: 'p50', number: true, of: ({ ms_p50 }) => duration(ms_p50) },
  { name: 'p95', number: true, of: ({ ms_p95 }) => duration(ms_p95) },
];

const errorColumns = (run: string): readonly TableColumn<ApiToolError>[] => [
  { name: 'Tool', of: ({ tool }) => <Text>{tool}</Text> },
  { name: 'Outcome', of: ({ status }) => <Badge state={status} /> },
  {
    name: 'Error',
    of: ({ tool, error_type }) => (
      <a href={address('/runs/:run/trajectories', { run }, { tool, error_type })}>
        <Text>{error_type === '' ? '(none)' : error_type}</Text>
      </a>
    ),
  },
  { name: 'Calls', number: true, of: ({ calls }) => figure(calls) },
];

function Sky({ run, weather }: { readonly run: string; readonly weather: ApiWeather }): JSX.Element {
  const names = [...new Set(weather.items.map(({ tool }) => tool))];
  return (
    <>
      <p class="note">
        A column is {duration(weather.every_s * 1_000)}. Bars are calls, red is what failed, the line is p95. An outage is hatched.
      </p>
      {names.map((tool) => (
        <Strip key={tool} tool={tool} spans={weather.items.filter((one) => one.tool === tool)} all={weather} />
      ))}
      <h2>Outages</h2>
      {weather.outages.length === 0 ? (
        <p class="note">No outages: no tool failed much more often than usual.</p>
      ) : (
        <Table label="Outages" rows={weather.outages} columns={outageColumns(run)} keyOf={({ tool, from }) => `${tool} ${from}`} />
      )}
    </>
  );
}

const outageColumns = (run: string): readonly TableColumn<ApiOutage>[] => [
  { name: 'Tool', of: ({ tool }) => <Text>{tool}</Text> },
  { name: 'From', of: ({ from }) => from.slice(0, 19) },
  { name: 'To', of: ({ to }) => to.slice(0, 19) },
  { name: 'Failed', number: true, of: ({ calls, failed }) => `${percent(failed / calls)} of ${figure(calls)}` },
  { name: 'Usual', number: true, of: ({ usual_failure_rate }) => percent(usual_failure_rate) },
  {
    name: 'Steps',
    of: ({ from_step, to_step }) =>
      from_step < 0 ? (
        '–'
      ) : (
        <a href={address('/runs/:run/curves', { run }, { from: Math.max(0, from_step - 20), to: to_step + 20 })}>
          {from_step} to {to_step}
        </a>
      ),
  },
];

function Strip({
  tool,
  spans,
  all,
}: {
  readonly tool: string;
  readonly spans: readonly ApiToolSpan[];
  readonly all: ApiWeather;
}): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const box = canvas.current;
    if (box === null) return undefined;
    const draw = (): void => drawWeather(box, spans, { all, tool });
    const watch = new ResizeObserver(draw);
    watch.observe(box);
    draw();
    return () => watch.disconnect();
  }, [all]);
  const failed = spans.reduce((sum, one) => sum + one.failed, 0);
  const calls = spans.reduce((sum, one) => sum + one.calls, 0);
  return (
    <figure class="chart">
      <figcaption>
        <b>
          <Text>{tool}</Text>
        </b>
        <span class="series">
          calls <output>{figure(calls)}</output>
        </span>
        <span class="series">
          failed <output>{percent(failed / calls)}</output>
        </span>
        <span class="series">
          p95 at worst <output>{duration(Math.max(...spans.map(({ ms_p95 }) => ms_p95 ?? 0)))}</output>
        </span>
      </figcaption>
      <canvas ref={canvas} class="weather" role="img" aria-label={`${visible(tool)}: ${calls} calls, ${failed} failed`} />
    </figure>
  );
}
