// The ledger of a run: its number of entries, gaps, the newest hashes, and where it diverges from another run.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import type { ApiPage, ApiRun } from '../data/shapes.ts';
import { figure } from '../kit/format.ts';
import { Badge, Stat, Text } from '../kit/parts.tsx';
import { RunPage, runUrl } from '../kit/run-page.tsx';
import { Failed, NotRecorded, Waiting } from '../kit/states.tsx';
import { visible } from '../kit/visible.ts';
import { address, type PatternParts } from '../shell/patterns.ts';
import { change, parameter } from '../shell/place.ts';
import { useOlderPages } from './older-pages.ts';

interface ApiLedger {
  readonly run_id: string;
  readonly entries: number;
  readonly last_sequence: number;
  readonly missing: number;
  readonly last_step: Readonly<Record<string, string | number>> | null;
  readonly with: string | null;
  readonly shared_steps: number | null;
  readonly first_difference: {
    readonly step: number;
    readonly batch_sha256: string;
    readonly other_batch_sha256: string;
    readonly weights_sha256: string;
    readonly other_weights_sha256: string;
  } | null;
}

const NEWEST = '/v1/runs?limit=200&fields=run_id,status';

export function LedgerPage({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  const other = parameter('with');
  const shown = useAnswer<ApiLedger>(runUrl(run, `/ledger${other === undefined ? '' : `?with=${encodeURIComponent(other)}`}`));
  const newest = useAnswer<ApiPage<ApiRun>>(NEWEST);
  const older = useOlderPages<ApiRun>(NEWEST, newest.value?.next_cursor ?? null);
  const known = [...(newest.value?.items ?? []), ...older.items].map(({ run_id }) => run_id);
  const others = [...new Set([...(other === undefined ? [] : [other]), ...known])].filter((one) => one !== run);
  return (
    <RunPage run={run} title="Ledger">
      <label class="inline">
        Compare with
        <select value={other ?? ''} onChange={(event) => change({ with: event.currentTarget.value }, true)}>
          <option value="">no other run</option>
          {others.map((one) => (
            <option key={one} value={one}>
              {visible(one)}
            </option>
          ))}
        </select>
      </label>
      {!older.isWhole && (
        <button type="button" class="chip" onClick={older.more} disabled={older.loading}>
          More runs
        </button>
      )}
      {older.problem !== undefined && <Failed problem={older.problem} />}
      <Waiting shown={shown} of="the ledger">
        {(ledger) =>
          ledger.entries === 0 ? (
            <NotRecorded>This run has no ledger: no trainer of turnstream wrote it.</NotRecorded>
          ) : (
            <Report ledger={ledger} />
          )
        }
      </Waiting>
      <Verified run={run} />
    </RunPage>
  );
}

interface ApiBroken {
  readonly sequence: number;
  readonly problem: string;
}

interface ApiLedgerCheck {
  readonly state: 'none' | 'intact' | 'incomplete' | 'broken';
  readonly entries: number;
  readonly checks: readonly { readonly check: string; readonly checked: number; readonly broken: ApiBroken | null }[];
  readonly first_broken: (ApiBroken & { readonly check: string }) | null;
}

const verdicts = {
  none: 'There is no ledger.',
  intact: 'All checks of the tables passed.',
  incomplete: 'Entries are missing: the tables are behind the log, or the log lost them.',
  broken: 'The ledger is broken.',
} as const;

const checkNames: Readonly<Record<string, string>> = {
  sequence: 'numbers without gaps',
  start: 'begins with the start of the run',
  chain: 'no two entries have the same place',
  steps: 'steps without gaps',
  weights: 'published weights are those that the steps made',
};

/** What the tables can prove about the chain. */
function Verified({ run }: { readonly run: string }): JSX.Element {
  const shown = useAnswer<ApiLedgerCheck>(runUrl(run, '/ledger/check'));
  return (
    <section aria-label="Verify state">
      <h2>Verified from the tables</h2>
      <Waiting shown={shown} of="the checks">
        {({ state, checks, first_broken: first }) => (
          <>
            <p role="status">
              <Badge state={state} /> {verdicts[state]}{' '}
              {first !== null && (
                <>
                  First at entry <b>{figure(first.sequence)}</b>: <Text>{first.problem}</Text>.
                </>
              )}
            </p>
            <ul class="checks">
              {checks.map(({ check, checked, broken }) => (
                <li key={check}>
                  <Badge state={broken === null ? 'ok' : 'failed'} /> {checkNames[check] ?? check}{' '}
                  <small>
                    {broken === null ? `${figure(checked)} checked` : `entry ${figure(broken.sequence)}: ${visible(broken.problem)}`}
                  </small>
                </li>
              ))}
            </ul>
          </>
        )}
      </Waiting>
    </section>
  );
}

const hashes = ['batch_sha256', 'weights_sha256', 'optimizer_sha256', 'previous_sha256'] as const;

function Report({ ledger }: { readonly ledger: ApiLedger }): JSX.Element {
  const { run_id: run, last_step: last } = ledger;
  return (
    <>
      <dl class="stats">
        <Stat name="Entries" value={ledger.entries} note={`last sequence number ${figure(ledger.last_sequence)}`} />
        <Stat
          name="Missing"
          value={ledger.missing}
          note={ledger.missing === 0 ? 'every sequence number is there' : 'not in the tables yet, or lost'}
        />
        <Stat name="Last step" value={last === null ? '–' : String(last['step'])} />
      </dl>
      {last !== null && (
        <dl class="pairs">
          {hashes.map((name) => (
            <div key={name}>
              <dt>{name.replace('_sha256', '')}</dt>
              <dd>
                <code>{last[name] === '' ? 'not recorded' : visible(String(last[name] ?? ''))}</code>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <h2>Check it</h2>
      <p class="note">
        The tables do not have the bytes of an entry. These commands read the log, recompute each hash, and train the run again.
      </p>
      <pre>
        {visible(`turnstream ledger verify --run ${run}\nturnstream replay --run ${run} --all --train`)}
        {ledger.with === null ? '' : visible(`\nturnstream ledger diff ${run} ${ledger.with}`)}
      </pre>
      {ledger.with !== null && <Difference ledger={ledger} other={ledger.with} />}
    </>
  );
}

function Difference({ ledger, other }: { readonly ledger: ApiLedger; readonly other: string }): JSX.Element {
  const { first_difference: first, run_id: run } = ledger;
  if (ledger.shared_steps === 0) return <NotRecorded>The runs have no step in common.</NotRecorded>;
  if (first === null)
    return <p role="status">The weights are the same after all {figure(ledger.shared_steps)} steps that both runs have.</p>;
  return (
    <section>
      <h2>First difference: step {first.step}</h2>
      <p class="note">
        {first.batch_sha256 === first.other_batch_sha256
          ? 'The batches are the same, the weights after them are not.'
          : 'The batches differ: they learned from other trajectories.'}{' '}
        Ids and times are part of a batch’s hash; <code>turnstream ledger diff</code> leaves them out.
      </p>
      <dl class="pairs">
        {[
          { name: run, batch: first.batch_sha256, weights: first.weights_sha256 },
          { name: other, batch: first.other_batch_sha256, weights: first.other_weights_sha256 },
        ].map(({ name, batch, weights }) => (
          <div key={name}>
            <dt>
              <a href={address('/runs/:run/steps/:step', { run: name, step: String(first.step) })}>
                <Text>{name}</Text>
              </a>
            </dt>
            <dd>
              batch <code>{visible(batch.slice(0, 16))}</code>, weights <code>{visible(weights.slice(0, 16))}</code>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
