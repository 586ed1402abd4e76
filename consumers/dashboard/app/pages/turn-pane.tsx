// The selected turn in full: the model's text, the tool call and its result, and the policy version.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import type { ApiPage, ApiTrajectoryReport, ApiTurn } from '../data/shapes.ts';
import { duration, figure, versions } from '../kit/format.ts';
import { Badge, When } from '../kit/parts.tsx';
import { Empty, NotRecorded, Waiting } from '../kit/states.tsx';
import { visible } from '../kit/visible.ts';
import { useKeys } from '../shell/keys.ts';
import { TokenPane } from './token-pane.tsx';

interface PaneProps {
  readonly run: string;
  readonly id: string;
  readonly attempt: number;
  readonly turn: number;
  readonly view: 'turn' | 'tokens' | 'raw';
  readonly sought: string | undefined;
}

const ofTurn = 'text,tool_result,logprobs';

export function TurnPane({ run, id, attempt, turn, view, sought }: PaneProps): JSX.Element {
  const fields = view === 'turn' ? ofTurn : `${ofTurn},token_ids,token_ends,loss_mask`;
  const query = `run=${encodeURIComponent(run)}&attempt=${attempt}&min_turn=${turn}&max_turn=${turn}&limit=1&fields=${fields}`;
  const shown = useAnswer<ApiPage<ApiTurn>>(`/v1/trajectories/${encodeURIComponent(id)}/turns?${query}`);
  const pane = useRef<HTMLElement>(null);
  const part = useRef(0);
  useEffect(() => markMatches(pane.current, sought), [shown.value, sought, view]);
  useKeys('Turn', [
    { keys: ['t'], does: 'To the tool call and back', run: () => (part.current = showPart(pane.current, part.current + 1)) },
  ]);
  useEffect(() => void (part.current = 0), [turn]);
  return (
    <article ref={pane} class="pane" tabIndex={0} aria-label={`Turn ${turn}`}>
      <Waiting shown={shown} of={`turn ${turn}`}>
        {({ items: [found] }) =>
          found === undefined ? (
            <Empty>This turn is not stored.</Empty>
          ) : view === 'raw' ? (
            <pre>{visible(JSON.stringify(found, null, 2))}</pre>
          ) : view === 'tokens' ? (
            <Tokens run={run} id={id} attempt={attempt} turn={found} />
          ) : (
            <TurnText turn={found} />
          )
        }
      </Waiting>
    </article>
  );
}

interface TokensProps extends Pick<PaneProps, 'run' | 'id' | 'attempt'> {
  readonly turn: ApiTurn;
}

/** The advantage of the attempt comes from a response that the page has already requested. */
function Tokens({ run, id, attempt, turn }: TokensProps): JSX.Element {
  const { value } = useAnswer<ApiTrajectoryReport>(`/v1/trajectories/${encodeURIComponent(id)}?run=${encodeURIComponent(run)}`);
  const advantage = value?.training.find((each) => each.attempt === attempt)?.advantage ?? undefined;
  const weight = useMemo(() => (advantage === undefined ? undefined : { advantage, mask: turn.loss_mask ?? [] }), [advantage, turn]);
  return <TokenPane turn={turn} weight={weight} />;
}

/** Scrolls to the next of text, call, and result, and after the last to the first. Returns the section that is shown. */
function showPart(pane: HTMLElement | null, wanted: number): number {
  const heads = pane?.querySelectorAll('h3') ?? [];
  const part = heads.length === 0 ? 0 : wanted % heads.length;
  heads[part]?.scrollIntoView({ block: 'start' });
  return part;
}

function TurnText({ turn }: { readonly turn: ApiTurn }): JSX.Element {
  return (
    <>
      <h2>
        Turn {turn.turn} <small>{versions(turn.policy_version_min, turn.policy_version_max)}</small>{' '}
        <small>
          <When at={turn.occurred_at} /> on {turn.worker_id}
        </small>
      </h2>
      <h3>
        Generated{' '}
        <small>
          {duration(turn.generation_ms)}, {figure(turn.completion_tokens)} tokens of {figure(turn.prompt_tokens)} in the prompt,{' '}
          {turn.finish_reason}
        </small>
      </h3>
      {turn.text === '' ? <Decision turn={turn} /> : <LongText text={turn.text} />}
      {turn.tool !== '' && (
        <>
          <h3>
            Called <b>{visible(turn.tool)}</b> <Badge state={turn.tool_status} note={turn.tool_error_type} />{' '}
            <small>
              {duration(turn.tool_ms)}
              {turn.cache_hit && ', from the cache'}
            </small>
          </h3>
          <LongText text={pretty(turn.tool_arguments)} />
          <h3>
            Result{' '}
            <small>
              {figure(turn.tool_result_chars)} characters{turn.truncated && ', cut when it was recorded'}
            </small>
          </h3>
          {turn.tool_result === '' ? <NotRecorded>The call gave no text.</NotRecorded> : <LongText text={turn.tool_result} />}
        </>
      )}
      <dl class="pairs">
        <div>
          <dt>reward</dt>
          <dd>{figure(turn.reward)}</dd>
        </div>
        <div>
          <dt>tokens by version</dt>
          <dd>
            {turn.policy_span_versions.map((version, at) => `v${version}: ${figure(turn.policy_span_tokens[at])}`).join(', ') ||
              'not recorded'}
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
    </>
  );
}

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

const SLICE = 65_536;

/** A text without formatting; a very long one in slices. */
function LongText({ text }: { readonly text: string }): JSX.Element {
  const [length, setLength] = useState(SLICE);
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

/** Highlights matches of the search without changing the DOM. */
function markMatches(pane: HTMLElement | null, sought: string | undefined): void {
  if (!('highlights' in CSS)) return;
  CSS.highlights.delete('found');
  if (pane === null || sought === undefined || sought === '') return;
  const needle = sought.toLowerCase();
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(pane, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null && ranges.length < 500; node = walker.nextNode()) {
    const text = node.nodeValue?.toLowerCase() ?? '';
    for (let at = text.indexOf(needle); at >= 0 && ranges.length < 500; at = text.indexOf(needle, at + needle.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + needle.length);
      ranges.push(range);
    }
  }
  CSS.highlights.set('found', new Highlight(...ranges));
}
