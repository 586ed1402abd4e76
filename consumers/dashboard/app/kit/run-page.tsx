// The header of every page of a run.
import type { ComponentChildren, JSX } from 'preact';
import { useTitle } from '../shell/title.ts';
import { RunTabs, Text } from './parts.tsx';

export function RunPage(props: {
  readonly run: string;
  readonly title: string;
  readonly children: ComponentChildren;
  readonly beside?: ComponentChildren;
}): JSX.Element {
  useTitle(`${props.title} of ${props.run}`);
  return (
    <>
      <div class="head">
        <h1>
          <Text>{props.title}</Text>
        </h1>
        {props.beside}
      </div>
      <RunTabs run={props.run} />
      {props.children}
    </>
  );
}

export const runUrl = (run: string, rest = ''): string => `/v1/runs/${encodeURIComponent(run)}${rest}`;
