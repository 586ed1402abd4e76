// One tool of a run: latencies, failures, its slowest calls, and all of its calls.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import type { NumberOrNull } from '../data/shapes.ts';
import { duration, figure, percent } from '../kit/format.ts';
import { Badge, Stat, Text, When } from '../kit/parts.tsx';
import { RunPage, runUrl } from '../kit/run-page.tsx';
import { Empty, Failed, Loading, Waiting } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { address, type PatternParts } from '../shell/patterns.ts';
import { usePages } from './pages-of.ts';

interface ApiLatencySpan {
  readonly from_ms: number;
  readonly to_ms: number;
  readonly calls: number;
  readonly failed: number;
}

interface ApiFailure {
  readonly status: string;
  readonly error_type: string;
  readonly calls: number;
  readonly ms_p50: NumberOrNull;
  readonly last_at: string | null;
}

interface ApiCall {
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly turn: number;
  readonly worker_id: string;
  readonly status: string;
  readonly error_type: string;
  readonly ms: NumberOrNull;
  readonly arguments: string;
  readonly occurred_at: string | null;
}

interface ApiOneTool {
  readonly calls: number;
  readonly failed: number;
  readonly cache_hits: number;
  readonly ms_p50: NumberOrNull;
  readonly ms_p95: NumberOrNull;
  readonly ms_p99: NumberOrNull;
  readonly ms_max: NumberOrNull;
  readonly latencies: readonly ApiLatencySpan[];
  readonly error_types: readonly ApiFailure[];
  readonly slowest: readonly ApiCall[];
}

export function ToolPage({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const [run, tool] = [parts['run'] ?? '', parts['tool'] ?? ''];
  const shown = useAnswer<ApiOneTool>(runUrl(run, `/tools/${encodeURIComponent(tool)}`));
  return (
    <RunPage
      run={run}
      title={`Tool ${tool}`}
      beside={<a href={address('/runs/:run/trajectories', { run }, { tool })}>Trajectories that called it</a>}
    >
      <Waiting shown={shown} of="the tool">
        {(value) => <ToolReport run={run} tool={tool} of={value} />}
      </Waiting>
      <h2>Calls</h2>
      <Calls run={run} tool={tool} />
    </RunPage>
  );
}

function ToolReport({ run, tool, of }: { readonly run: string; readonly tool: string; readonly of: ApiOneTool }): JSX.Element {
  return (
    <>
      <dl class="stats">
        <Stat name="Calls" value={of.calls} note={`${figure(of.cache_hits)} from the cache`} />
        <Stat name="Failed" value={percent(of.failed / of.calls)} note={figure(of.failed)} />
        <Stat name="p50" value={duration(of.ms_p50)} />
        <Stat name="p95" value={duration(of.ms_p95)} />
        <Stat name="p99" value={duration(of.ms_p99)} note={`at most ${duration(of.ms_max)}`} />
      </dl>
      <h2>Latency</h2>
      <Latencies spans={of.latencies} />
      <h2>Errors</h2>
      {of.error_types.length === 0 ? (
        <p class="note">No call failed.</p>
      ) : (
        <Table label="Error types" rows={of.error_types} columns={failures(run, tool)} keyOf={(row) => `${row.status} ${row.error_type}`} />
      )}
      <h2>Slowest arguments</h2>
      <Table label="Slowest calls" rows={of.slowest} columns={calls(run)} keyOf={keyOf} />
    </>
  );
}

const keyOf = ({ trajectory_id, attempt, turn }: ApiCall): string => `${trajectory_id} ${attempt} ${turn}`;

const failures = (run: string, tool: string): readonly TableColumn<ApiFailure>[] => [
  { name: 'Outcome', of: ({ status }) => <Badge state={status} /> },
  {
    name: 'Error',
    of: ({ error_type }) => (
      <a href={address('/runs/:run/trajectories', { run }, { tool, error_type })}>
        <Text>{error_type === '' ? '(none)' : error_type}</Text>
      </a>
    ),
  },
  { name: 'Calls', number: true, of: (row) => figure(row.calls) },
  { name: 'p50', number: true, of: ({ ms_p50 }) => duration(ms_p50) },
  { name: 'Last', of: ({ last_at }) => <When at={last_at} /> },
];

const calls = (run: string): readonly TableColumn<ApiCall>[] => [
  { name: 'Took', number: true, of: ({ ms }) => duration(ms) },
  { name: 'Outcome', of: ({ status, error_type }) => <Badge state={status} note={error_type} /> },
  { name: 'Arguments', of: (call) => <Text title>{call.arguments.slice(0, 160)}</Text> },
  {
    name: 'Turn',
    of: ({ trajectory_id: trajectory, attempt, turn }) => (
      <a href={address('/runs/:run/t/:trajectory', { run, trajectory }, { attempt, turn })}>
        <Text>{trajectory}</Text> turn {turn}
      </a>
    ),
  },
  { name: 'Worker', of: ({ worker_id }) => <Text>{worker_id}</Text> },
  { name: 'When', of: ({ occurred_at }) => <When at={occurred_at} /> },
];

const HIGH = 40;

/** A histogram of latencies with failures stacked on top; bins grow, so that milliseconds and minutes fit into one chart. */
function Latencies({ spans }: { readonly spans: readonly ApiLatencySpan[] }): JSX.Element {
  const [first, last] = [spans[0], spans.at(-1)];
  if (first === undefined || last === undefined) return <Empty>How long the calls took was not recorded.</Empty>;
  const most = Math.max(...spans.map((span) => span.calls));
  const bars = (from: (span: ApiLatencySpan) => number, to: (span: ApiLatencySpan) => number): string =>
    spans
      .map((span, at) => {
        const [bottom, top] = [HIGH - (HIGH * from(span)) / most, HIGH - (HIGH * to(span)) / most];
        return top === bottom ? '' : `M${at},${bottom}V${top}H${at + 0.9}V${bottom}Z`;
      })
      .join('');
  const range = `${duration(first.from_ms)} to ${duration(last.to_ms)}`;
  return (
    <section class="histogram">
      <svg viewBox={`0 0 ${spans.length} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label={`Latencies from ${range}`}>
        {spans.map((span, at) => (
          <rect key={at} x={at} width="1" height={HIGH} fill="transparent">
            <title>
              {duration(span.from_ms)} to {duration(span.to_ms)}: {figure(span.calls)} calls, {figure(span.failed)} failed
            </title>
          </rect>
        ))}
        <path
          class="kept"
          pointer-events="none"
          d={bars(
            () => 0,
            (span) => span.calls - span.failed,
          )}
        />
        <path
          class="discarded"
          pointer-events="none"
          d={bars(
            (span) => span.calls - span.failed,
            (span) => span.calls,
          )}
        />
      </svg>
      <p class="note">
        {range}; each bar ends 1.4 times as late as it begins, the highest has {figure(most)} calls. Orange: failed.
      </p>
    </section>
  );
}

const fields = 'trajectory_id,attempt,turn,worker_id,status,error_type,ms,arguments,occurred_at';

function Calls({ run, tool }: { readonly run: string; readonly tool: string }): JSX.Element {
  const pages = usePages<ApiCall>(runUrl(run, `/tool-calls?limit=50&tool=${encodeURIComponent(tool)}&fields=${fields}`));
  return (
    <>
      {pages.problem !== undefined && <Failed problem={pages.problem} />}
      {pages.items.length === 0 && pages.loading && <Loading of="the calls" />}
      {pages.items.length > 0 && <Table label="Calls" rows={pages.items} columns={calls(run)} keyOf={keyOf} />}
      {!pages.isWhole && (
        <button type="button" class="chip" onClick={pages.more} disabled={pages.loading}>
          More calls
        </button>
      )}
    </>
  );
}
