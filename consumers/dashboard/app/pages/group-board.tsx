// The tool calls of all attempts of a group in columns, aligned with the first attempt.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import type { ApiPage, ApiTrajectory } from '../data/shapes.ts';
import { count, figure } from '../kit/format.ts';
import { Text } from '../kit/parts.tsx';
import { runUrl } from '../kit/run-page.tsx';
import { Empty, Waiting } from '../kit/states.tsx';
import { attemptName } from '../shell/attempt-names.ts';
import { address } from '../shell/patterns.ts';
import { alignAll } from './align.ts';

const MOST_CALLS = 1_000;
const MOST_TURNS = 60;
const fields = 'trajectory_id,attempt,turn,tool,status,arguments';

interface ApiGroupCall {
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly turn: number;
  readonly tool: string;
  readonly status: string;
  readonly arguments: string;
}

interface GroupBoardProps {
  readonly run: string;
  readonly group: string;
  /** Finished attempts, in the order of the columns. */
  readonly attempts: readonly ApiTrajectory[];
  /** All attempts that may have calls. */
  readonly size: number;
}

export function GroupBoard({ run, group, attempts, size }: GroupBoardProps): JSX.Element {
  const turns = Math.max(1, Math.min(MOST_TURNS, Math.floor(MOST_CALLS / size)));
  const query = `group=${encodeURIComponent(group)}&max_turn=${turns - 1}&limit=${MOST_CALLS}&fields=${fields}`;
  const shown = useAnswer<ApiPage<ApiGroupCall>>(runUrl(run, `/tool-calls?${query}`));
  return (
    <section aria-label="All attempts">
      <h2>All attempts</h2>
      <Waiting shown={shown} of="the tool calls">
        {({ items }) =>
          items.length === 0 ? (
            <Empty>No attempt called a tool in its first {count(turns, 'turn')}.</Empty>
          ) : (
            <>
              <AlignedCalls run={run} attempts={attempts} calls={items} />
              <p class="note">
                The tool calls of the first {count(turns, 'turn')} of each attempt, aligned with the first column. Pale: the same call.
              </p>
            </>
          )
        }
      </Waiting>
    </section>
  );
}

interface AlignedCallsProps {
  readonly run: string;
  readonly attempts: readonly ApiTrajectory[];
  readonly calls: readonly ApiGroupCall[];
}

function AlignedCalls({ run, attempts, calls }: AlignedCallsProps): JSX.Element {
  const columns = useMemo(
    () => attempts.map((one) => calls.filter((call) => attemptName(call) === attemptName(one))),
    [calls, attempts.map(attemptName).join(' ')],
  );
  const rows = useMemo(() => alignAll(columns), [columns]);
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label="Aligned calls">
      <table>
        <thead>
          <tr>
            {attempts.map((one) => (
              <th key={attemptName(one)} scope="col">
                <Text>{attemptName(one)}</Text> <small>reward {figure(one.reward)}</small>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {columns.map((column, place) => (
                <Call key={place} run={run} call={column[row[place] ?? -1]} first={columns[0]?.[row[0] ?? -1]} isFirst={place === 0} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface CallProps {
  readonly run: string;
  readonly call: ApiGroupCall | undefined;
  /** The call of the first column in this row. */
  readonly first: ApiGroupCall | undefined;
  readonly isFirst: boolean;
}

function Call({ run, call, first, isFirst }: CallProps): JSX.Element {
  if (call === undefined) return <td class="dim">–</td>;
  const isSame = !isFirst && call.tool === first?.tool && call.arguments === first.arguments;
  const to = address('/runs/:run/t/:trajectory', { run, trajectory: call.trajectory_id }, { attempt: call.attempt, turn: call.turn });
  return (
    <td class={isSame ? 'dim' : ''}>
      <a href={to}>turn {call.turn}</a> <Text>{call.tool}</Text>{' '}
      {call.status !== 'ok' && (
        <span class="bad">
          <Text>{call.status}</Text>{' '}
        </span>
      )}
      <Text title>{call.arguments.slice(0, 60)}</Text>
    </td>
  );
}
