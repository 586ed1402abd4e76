// Interprets what a model wrote as a turn. No text makes it throw: unusable output is a turn with a status. Rules: of each kind of call,
// the last counts; tools are tried in order, search and access first, and the answer last.
import type { Action, WithoutCall } from '../../../../streams/core/agents.ts';
import { argumentOf, type ToolKind } from '../../../../streams/core/tools.ts';
import { extractAnswer, parseAction } from '../../../../streams/reward/format.ts';
import type { TurnPrompt } from './memory.ts';

/** Either a call, or the reason why there is none. */
export interface Output {
  readonly action: Action | undefined;
  readonly withoutCall?: WithoutCall;
}

export const failed = (errorType: string, status: WithoutCall['status'] = 'error'): Output => ({
  action: undefined,
  withoutCall: { status, errorType },
});

const ANSWER = { name: 'answer' } as const;

/** The text after the last thought of a reasoning model. */
export function afterReasoning(text: string): string {
  const end = text.lastIndexOf('</think>');
  return end < 0 ? text : text.slice(end + '</think>'.length);
}

const withoutCalls = (text: string, tools: readonly ToolKind[]): string =>
  [...tools, ANSWER].reduce((rest, { name }) => {
    const pieces = rest.split(`<${name}>`);
    return pieces.map((piece, at) => (at === 0 ? piece : afterFirst(piece, `</${name}>`))).join('');
  }, text);

function afterFirst(text: string, part: string): string {
  const at = text.indexOf(part);
  return at < 0 ? '' : text.slice(at + part.length);
}

/** The thought in an output: the content of its last thought tags, else everything except calls; reasoning before it is left out. */
export function thoughtOf(text: string, tools: readonly ToolKind[]): string {
  const wrote = afterReasoning(text);
  const open = wrote.lastIndexOf('<thought>');
  const plain = open < 0 ? wrote : wrote.slice(open + '<thought>'.length);
  const close = plain.indexOf('</thought>');
  return withoutCalls(open >= 0 && close >= 0 ? plain.slice(0, close) : plain, tools).trim();
}

/** For an answer without tags: the last line that mentions an answer. */
function lineOfAnswer(text: string): string | undefined {
  return text
    .split('\n')
    .filter((line) => /answer/i.test(line))
    .at(-1)
    ?.trim();
}

function readAnswer(text: string): Output {
  const answer = extractAnswer(text) ?? lineOfAnswer(text);
  return answer === undefined ? failed('no_answer') : { action: { tool: 'answer', answer } };
}

function whyNone(text: string, { finishReason, tools }: OutputOptions): string {
  if (finishReason === 'length') return 'cut_off';
  return [...tools, ANSWER].some(({ name }) => text.includes(`<${name}>`)) ? 'unclosed_tag' : 'no_action';
}

function readCall(text: string, ask: TurnPrompt, options: OutputOptions): Output {
  const action = parseAction(text, options.tools);
  if (action === undefined) return failed(whyNone(text, options));
  if (action.tool === 'answer') return ask.mayAnswer ? { action } : failed('answer_too_early', 'refused');
  return argumentOf(action) === '' ? failed('empty_argument') : { action };
}

export interface OutputOptions {
  readonly finishReason: string;
  /** Tools whose calls count. */
  readonly tools: readonly ToolKind[];
}

/** Interprets the reply to a request. */
export function readOutput(text: string, ask: TurnPrompt, options: OutputOptions): Output {
  const counts = ask.calls === 'anywhere' ? text : afterReasoning(text);
  switch (ask.mode) {
    case 'read':
      return { action: undefined, withoutCall: { status: 'ok', errorType: '' } };
    case 'answer':
      return readAnswer(counts);
    case 'act':
      return readCall(counts, ask, options);
  }
}

/**
 * The text with the closing tag that stopped it, which servers omit. Only a stop tag that the server reports was generated: a tag that the
 * model left open stays open.
 */
export function withStop(text: string, stop: readonly string[], stopText: string | undefined): string {
  if (stopText?.startsWith('</') !== true || !stop.includes(stopText)) return text;
  return text.trimEnd().endsWith(stopText) ? text : `${text}${stopText}`;
}
