// A turn as text: what the model generated, the tool calls with their results, and figures.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiTurn } from '../data/shapes.ts';
import { count, duration, figure, versions } from '../kit/format.ts';
import { Badge, Text, When } from '../kit/parts.tsx';
import { NotRecorded } from '../kit/states.tsx';
import { visible } from '../kit/visible.ts';
import { callsOf, type ShownCall } from './turn-columns.ts';

const SLICE = 65_536;
const whole = { characters: SLICE, calls: 100 } as const;
const brief = { characters: 4_096, calls: 4 } as const;

interface TurnTextProps {
  readonly turn: ApiTurn;
  /** True if many turns are on the page: shows less of long texts and no figures. */
  readonly isBrief?: boolean;
}

export function TurnText({ turn, isBrief = false }: TurnTextProps): JSX.Element {
  const most = isBrief ? brief : whole;
  const calls = callsOf(turn);
  return (
    <>
      <h2>
        Turn {turn.turn} <small>{versions(turn.policy_version_min, turn.policy_version_max)}</small>{' '}
        <small>
          <When at={turn.occurred_at} /> on <Text>{turn.worker_id}</Text>
        </small>
      </h2>
      <h3>
        Generated{' '}
        <small>
          {duration(turn.generation_ms)}, {figure(turn.completion_tokens)} tokens of {figure(turn.prompt_tokens)} in the prompt,{' '}
          <Text>{turn.finish_reason}</Text>
        </small>
      </h3>
      {turn.text === '' ? <Decision turn={turn} /> : <LongText text={turn.text} first={most.characters} />}
      {calls.slice(0, most.calls).map((call, at) => (
        <Call key={at} call={call} first={most.characters} />
      ))}
      {calls.length > most.calls && (
        <p class="note">
          {count(calls.length - most.calls, 'more call')}: see the view {isBrief ? 'turn' : 'raw'}.
        </p>
      )}
      {!isBrief && <Figures turn={turn} />}
    </>
  );
}

const Call = ({ call, first }: { readonly call: ShownCall; readonly first: number }): JSX.Element => (
  <>
    <h3>
      Called <b>{visible(call.tool)}</b> <Badge state={call.status} note={call.errorType} />{' '}
      <small>
        {duration(call.ms)}
        {call.isCached && ', from the cache'}
      </small>
    </h3>
    <LongText text={pretty(call.arguments)} first={first} />
    <h3>
      Result{' '}
      <small>
        {figure(call.chars)} characters{call.isCut && ', cut when it was recorded'}
      </small>
    </h3>
    {call.result === '' ? <NotRecorded>The call gave no text.</NotRecorded> : <LongText text={call.result} first={first} />}
  </>
);

const Figures = ({ turn }: { readonly turn: ApiTurn }): JSX.Element => (
  <dl class="pairs">
    <div>
      <dt>reward</dt>
      <dd>{figure(turn.reward)}</dd>
    </div>
    <div>
      <dt>tokens by version</dt>
      <dd>
        {turn.policy_span_versions.map((version, at) => `v${version}: ${figure(turn.policy_span_tokens[at])}`).join(', ') || 'not recorded'}
      </dd>
    </div>
    <div>
      <dt>log probability</dt>
      <dd>{logprobOf(turn)}</dd>
    </div>
    <div>
      <dt>in the log</dt>
      <dd>
        {turn._topic}/{turn._partition}/{turn._offset}
      </dd>
    </div>
  </dl>
);

function logprobOf({ logprobs, decision_candidates, decision_logprob }: ApiTurn): string {
  if (decision_candidates > 0) return figure(decision_logprob);
  const known = (logprobs ?? []).filter((value): value is number => value !== null);
  if (known.length === 0) return 'not recorded';
  return `${figure(known.reduce((sum, value) => sum + value, 0) / known.length)} a token, least ${figure(Math.min(...known))}`;
}

const Decision = ({ turn }: { readonly turn: ApiTurn }): JSX.Element =>
  turn.decision_candidates > 0 ? (
    <p>
      Chose {turn.decision_chosen} of {turn.decision_candidates} actions, entropy {figure(turn.decision_entropy)}.
    </p>
  ) : (
    <NotRecorded>The turn has no text.</NotRecorded>
  );

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

interface LongTextProps {
  readonly text: string;
  /** Number of characters that are shown at first. */
  readonly first?: number;
}

/** A text without formatting; a very long one in slices. */
export function LongText({ text, first = SLICE }: LongTextProps): JSX.Element {
  const [length, setLength] = useState(first);
  return (
    <>
      <pre>{visible(text.slice(0, length))}</pre>
      {text.length > length && (
        <button type="button" class="chip" onClick={() => setLength(length + 8 * SLICE)}>
          {figure(text.length - length)} more characters
        </button>
      )}
    </>
  );
}
