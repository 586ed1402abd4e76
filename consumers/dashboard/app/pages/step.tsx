// What one step learned from: its batch by group with rewards and advantages, what was discarded and why, and the hashes that link it to
// its neighbors in the ledger.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import type { ApiTrajectoryAccount, ApiStep, ApiStepReport } from '../data/shapes.ts';
import { duration, figure, versions } from '../kit/format.ts';
import { RunTabs, Stat, Text, When } from '../kit/parts.tsx';
import { Empty, Waiting } from '../kit/states.tsx';
import { visible } from '../kit/visible.ts';
import { useKeys } from '../shell/keys.ts';
import { address, type PatternParts } from '../shell/patterns.ts';
import { change, go, numberParameter } from '../shell/place.ts';
import { Histograms } from './histograms.tsx';
import { useTitle } from '../shell/title.ts';

export function StepPage({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  const step = Number(parts['step']);
  useTitle(`Step ${step} of ${run}`);
  const shown = useAnswer<ApiStepReport>(`/v1/runs/${encodeURIComponent(run)}/steps/${step}`);
  const to = (number: number): string => address('/runs/:run/steps/:step', { run, step: String(number) });
  useKeys('Step', [
    { keys: ['['], does: 'Previous step', run: () => step > 1 && go(to(step - 1)) },
    { keys: [']'], does: 'Next step', run: () => go(to(step + 1)) },
  ]);
  return (
    <>
      <div class="head">
        <h1>Step {step}</h1>
        <a class="chip" href={to(step - 1)}>
          ← <kbd>[</kbd>
        </a>
        <a class="chip" href={to(step + 1)}>
          <kbd>]</kbd> →
        </a>
      </div>
      <RunTabs run={run} />
      <Waiting shown={shown} of={`step ${step}`}>
        {(report) => <Report run={run} report={report} />}
      </Waiting>
      <AroundStep run={run} step={step} />
    </>
  );
}

const reaches = [0, 10, 100] as const;

/** Distributions over this step, or over the steps around it. */
function AroundStep({ run, step }: { readonly run: string; readonly step: number }): JSX.Element {
  const around = Math.max(0, numberParameter('around') ?? 0);
  return (
    <>
      <div class="chips" role="group" aria-label="Steps of the distributions">
        {reaches.map((reach) => (
          <button
            key={reach}
            type="button"
            class="chip"
            aria-pressed={reach === around}
            onClick={() => change({ around: reach === 0 ? undefined : reach })}
          >
            {reach === 0 ? 'this step' : `± ${reach} steps`}
          </button>
        ))}
      </div>
      <Histograms run={run} from={Math.max(0, step - around)} to={step + around} />
    </>
  );
}

function Report({
  run,
  report: { step, trajectories, discarded, truncated },
}: {
  readonly run: string;
  readonly report: ApiStepReport;
}): JSX.Element {
  const groups = groupBy(trajectories, ({ group_id }) => group_id);
  return (
    <>
      <dl class="stats">
        <Stat name="Reward" value={step.reward_mean} note={`F1 ${figure(step.f1_mean)}`} />
        <Stat name="Policy" value={versions(step.version_before, step.version_after)} note={<When at={step.at} />} />
        <Stat name="Batch" value={step.trajectories} note={`trajectories in ${figure(step.groups)} groups`} />
        <Stat name="Tokens" value={step.tokens} />
        <Stat name="Staleness" value={step.staleness_mean} note={`most ${figure(step.staleness_max)}`} />
        <Stat name="Waited, trained" value={`${duration(step.wait_ms)}, ${duration(step.train_ms)}`} />
      </dl>
      <Hashes step={step} />
      <h2>Trained on</h2>
      {truncated && (
        <p class="note">The batch does not fit into one response: this is its beginning. The SQL table step_trajectories has all of it.</p>
      )}
      {groups.size === 0 ? (
        <Empty>The trajectories of this step are not stored yet.</Empty>
      ) : (
        <Accounts run={run} groups={[...groups]} last="advantage" />
      )}
      <h2>Discarded meanwhile</h2>
      {discarded.length === 0 ? (
        <Empty>Nothing was discarded between the previous step and this one.</Empty>
      ) : (
        <Accounts run={run} groups={[...groupBy(discarded, ({ reason }) => (reason ?? '').replaceAll('_', ' '))]} last="reason" />
      )}
    </>
  );
}

const hashes = ['batch_sha256', 'weights_sha256', 'optimizer_sha256', 'previous_sha256'] as const;
const hashNames = {
  batch_sha256: 'batch',
  weights_sha256: 'weights after',
  optimizer_sha256: 'optimizer after',
  previous_sha256: 'ledger entry before',
} as const;

const Hashes = ({ step }: { readonly step: ApiStep }): JSX.Element => (
  <dl class="pairs hashes">
    {hashes.map((name) => (
      <div key={name}>
        <dt>{hashNames[name]}</dt>
        <dd>
          <code title={visible(step[name])}>{step[name] === '' ? 'not recorded' : visible(step[name].slice(0, 16))}</code>
        </dd>
      </div>
    ))}
  </dl>
);

function groupBy(
  accounts: readonly ApiTrajectoryAccount[],
  keyOf: (account: ApiTrajectoryAccount) => string,
): ReadonlyMap<string, readonly ApiTrajectoryAccount[]> {
  const groups = new Map<string, ApiTrajectoryAccount[]>();
  for (const account of accounts) groups.set(keyOf(account), [...(groups.get(keyOf(account)) ?? []), account]);
  return groups;
}

interface AccountsProps {
  readonly run: string;
  readonly groups: readonly (readonly [string, readonly ApiTrajectoryAccount[]])[];
  readonly last: 'advantage' | 'reason';
}

const Accounts = ({ run, groups, last }: AccountsProps): JSX.Element => (
  <div class="scroller" tabIndex={0} role="region" aria-label={last === 'advantage' ? 'Trained on' : 'Discarded'}>
    <table>
      <thead>
        <tr>
          <th>Trajectory</th>
          <th class="number">Reward</th>
          <th class="number">{last}</th>
          <th class="number">Turns</th>
          <th class="number">Tokens</th>
          <th>Versions</th>
          <th class="number">Stale</th>
          <th class="number">in flight</th>
          <th class="number">in queue</th>
          <th class="number">Flew</th>
          <th class="number">Queued</th>
        </tr>
      </thead>
      {groups.map(([name, accounts]) => (
        <tbody key={name}>
          <tr class="group">
            <th colSpan={11} scope="rowgroup">
              {last === 'advantage' ? (
                <a href={address('/runs/:run/groups/:group', { run, group: name })}>
                  <Text>{name}</Text>
                </a>
              ) : (
                <Text>{name}</Text>
              )}{' '}
              <small>
                {figure(accounts.length)} {accounts.length === 1 ? 'trajectory' : 'trajectories'}
              </small>
            </th>
          </tr>
          {accounts.map((account) => (
            <tr key={`${account.trajectory_id} ${account.attempt}`}>
              <td>
                <a href={address('/runs/:run/t/:trajectory', { run, trajectory: account.trajectory_id }, { attempt: account.attempt })}>
                  <Text>{account.trajectory_id}</Text>
                </a>
              </td>
              <td class="number">{figure(account.reward)}</td>
              <td class={`number ${last === 'advantage' && (account.advantage ?? 0) < 0 ? 'bad' : ''}`}>
                {last === 'advantage' ? figure(account.advantage) : visible((account.reason ?? '').replaceAll('_', ' '))}
              </td>
              <td class="number">{figure(account.turns)}</td>
              <td class="number">{figure(account.tokens)}</td>
              <td>{versions(account.version_first, account.version_last)}</td>
              <td class="number">{figure(account.staleness_total)}</td>
              <td class="number">{figure(account.staleness_in_flight)}</td>
              <td class="number">{figure(account.staleness_in_queue)}</td>
              <td class="number">{duration(account.flight_ms)}</td>
              <td class="number">{duration(account.queue_ms)}</td>
            </tr>
          ))}
        </tbody>
      ))}
    </table>
  </div>
);
