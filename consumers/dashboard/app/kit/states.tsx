// What a part of a page shows instead of data. Loading, empty, failed, and not recorded are different states, and each says what to do.
import type { ComponentChildren, JSX } from 'preact';
import type { Loadable } from '../data/answers.ts';
import type { ApiProblem } from '../data/request.ts';
import { SignOut } from '../shell/sign-out.tsx';
import { visible } from './visible.ts';

export const Loading = ({ of }: { readonly of: string }): JSX.Element => (
  <p class="state loading" role="status">
    Loading {of}…
  </p>
);

export const Empty = ({ children }: { readonly children: ComponentChildren }): JSX.Element => <div class="state empty">{children}</div>;

export const NotRecorded = ({ children }: { readonly children: ComponentChildren }): JSX.Element => (
  <div class="state missing">
    <b>Not recorded.</b> {children}
  </div>
);

export const Failed = ({ problem }: { readonly problem: ApiProblem }): JSX.Element => (
  <div class="state failed" role="alert">
    <b>{problem.code}</b> {visible(problem.detail)} {problem.code === 'FORBIDDEN' && <SignOut />}
  </div>
);

/** The data if there is any, with the latest error above it; otherwise the reason why there is none. */
export function Waiting<T>({
  shown,
  of,
  children,
}: {
  readonly shown: Loadable<T>;
  readonly of: string;
  readonly children: (value: T) => ComponentChildren;
}): JSX.Element {
  const { value, problem } = shown;
  return (
    <>
      {problem !== undefined && <Failed problem={problem} />}
      {value !== undefined ? children(value) : problem === undefined && <Loading of={of} />}
    </>
  );
}
