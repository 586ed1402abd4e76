// Compares any two attempts of a run. The keys m and d put their names in the address.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import type { ApiTrajectoryReport } from '../data/shapes.ts';
import { RunPage } from '../kit/run-page.tsx';
import { Empty, Waiting } from '../kit/states.tsx';
import { visible } from '../kit/visible.ts';
import { attemptName, attemptOf, type MarkedAttempt } from '../shell/attempt-names.ts';
import type { PatternParts } from '../shell/patterns.ts';
import { parameter } from '../shell/place.ts';
import { AttemptDiff, type ComparedAttempt } from './attempt-diff.tsx';

export function DiffPage({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  const [a, b] = [parameter('a'), parameter('b')];
  return (
    <RunPage run={run} title="Difference between two attempts">
      {a === undefined || b === undefined ? (
        <Empty>Mark a trajectory with m, open another one, and press d.</Empty>
      ) : (
        <Both key={`${a} ${b}`} run={run} left={attemptOf(a)} right={attemptOf(b)} />
      )}
    </RunPage>
  );
}

const urlOf = (run: string, { trajectory_id }: MarkedAttempt): string =>
  `/v1/trajectories/${encodeURIComponent(trajectory_id)}?run=${encodeURIComponent(run)}`;

function withReward(report: ApiTrajectoryReport, one: MarkedAttempt): ComparedAttempt {
  return { ...one, reward: report.attempts.find(({ attempt }) => attempt === one.attempt)?.result?.reward ?? null };
}

function Both({ run, left, right }: { readonly run: string; readonly left: MarkedAttempt; readonly right: MarkedAttempt }): JSX.Element {
  const a = useAnswer<ApiTrajectoryReport>(urlOf(run, left));
  const b = useAnswer<ApiTrajectoryReport>(urlOf(run, right));
  return (
    <Waiting shown={a} of={visible(attemptName(left))}>
      {(one) => (
        <Waiting shown={b} of={visible(attemptName(right))}>
          {(other) => <AttemptDiff run={run} left={withReward(one, left)} right={withReward(other, right)} />}
        </Waiting>
      )}
    </Waiting>
  );
}
