// Function calling instead of tags: what is offered, what a call amounts to, and how calls stand in the text of a turn.
// Rules: one call a turn. Of several the first counts and the others are answered with a refusal; they break the format, as
// several tags do. No arguments make it throw: a call that cannot be made is a turn with a status.
import type { Action, FunctionCall, FunctionSpec, PastTurn } from '../../../../streams/core/agents.ts';
import { formatOk } from '../../../../streams/reward/format.ts';
import { strip } from '../../../../streams/reward/normalise.ts';
import type { Ask } from './memory.ts';
import { failed, readOutput, type Output } from './output.ts';

const text = (name: string, description: string, [parameter, about]: readonly [string, string]): FunctionSpec => ({
  ...{ name, description },
  parameters: {
    ...{ type: 'object', properties: { [parameter]: { type: 'string', description: about } } },
    ...{ required: [parameter], additionalProperties: false },
  },
});

const search = text('search', 'Finds pages and shows a snippet and the URL of each.', ['query', 'Words to look for.']);
const access = text('access', 'Opens a page and shows it piece by piece.', ['url', 'URL of the page.']);
const answer = text('answer', 'Ends the work with the answer.', [
  'answer',
  'The bare answer, without a sentence around it; several answers are parted with commas.',
]);

export const lookUps: readonly FunctionSpec[] = [search, access];
export const everyFunction: readonly FunctionSpec[] = [...lookUps, answer];
export const answerOnly: readonly FunctionSpec[] = [answer];

/** The server's field as it came, behind what the model wrote; nothing without calls. */
export function renderCalls(calls: readonly FunctionCall[]): string {
  if (calls.length === 0) return '';
  const field = calls.map(({ id, name, arguments: given }) => ({ id, type: 'function', function: { name, arguments: given } }));
  return `<tool_calls>${JSON.stringify(field).replaceAll('<', '\\u003c')}</tool_calls>`;
}

/** What the model wrote beside its calls. */
export function contentOf({ text: wrote, calls = [] }: Pick<PastTurn, 'text' | 'calls'>): string {
  const rendered = renderCalls(calls);
  return rendered !== '' && wrote.endsWith(rendered) ? wrote.slice(0, -rendered.length) : wrote;
}

function parsed(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** The action of a call, or why there is none. */
function actionOf({ name, arguments: given }: FunctionCall): Action | 'unknown_tool' | 'bad_arguments' {
  const fields = parsed(given);
  const argument = (parameter: string): string | undefined => {
    const value = fields?.[parameter];
    return typeof value === 'string' ? strip(value) : undefined;
  };
  const made = <T>(value: string | undefined, action: (value: string) => T): T | 'bad_arguments' =>
    value === undefined ? 'bad_arguments' : action(value);
  switch (name) {
    case 'search':
      return made(argument('query'), (query) => ({ tool: 'search', query }));
    case 'access':
      return made(argument('url'), (url) => ({ tool: 'access', url }));
    case 'answer':
      return made(argument('answer'), (said) => ({ tool: 'answer', answer: said }));
    default:
      return 'unknown_tool';
  }
}

/** The format reward of one generation: that of its text, one call at most, and no call that cannot be read. */
export const callsFormatOk = (content: string, calls: readonly FunctionCall[]): boolean =>
  formatOk(content) && calls.length <= 1 && calls.every((call) => typeof actionOf(call) !== 'string');

/** What was written to an ask that offered functions. */
export interface Called {
  readonly calls: readonly FunctionCall[];
  /** Beside the calls. */
  readonly content: string;
  readonly finishReason: string;
}

/** Reads calls as a turn. */
export function readCalls({ calls, content, finishReason }: Called, ask: Ask): Output {
  switch (ask.mode) {
    case 'read':
      return readOutput(content, ask, finishReason);
    case 'answer': {
      const given = calls.map(actionOf).find((action) => typeof action !== 'string' && action.tool === 'answer');
      return given !== undefined && typeof given !== 'string' ? { action: given } : readOutput(content, ask, finishReason);
    }
    case 'act':
      return readAct(calls[0], ask, finishReason === 'length');
  }
}

function readAct(call: FunctionCall | undefined, ask: Ask, cutOff: boolean): Output {
  if (call === undefined) return failed(cutOff ? 'cut_off' : 'no_action');
  const action = actionOf(call);
  if (typeof action === 'string') return failed(cutOff ? 'cut_off' : action);
  if (action.tool === 'answer') return ask.mayAnswer ? { action } : failed('answer_too_early', 'refused');
  return (action.tool === 'search' ? action.query : action.url) === '' ? failed('empty_argument') : { action };
}
