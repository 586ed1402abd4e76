// Function calling instead of tags: which functions are offered, how a call is interpreted, and how calls appear in the text of a turn.
// Rules: one call per turn. Of several calls the first counts, and the others are answered with a refusal; they break the format, as
// several tags do. No arguments make it throw: an invalid call is a turn with a status.
import type { Action, FunctionCall, FunctionSpec, PastTurn } from '../../../../streams/core/agents.ts';
import { argumentOf, callOf, type ToolKind } from '../../../../streams/core/tools.ts';
import { formatOk } from '../../../../streams/reward/format.ts';
import { strip } from '../../../../streams/reward/normalise.ts';
import type { TurnPrompt } from './memory.ts';
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

/** An additional tool: splits its prompt line into the call and the description. */
function further({ name, usage }: ToolKind): FunctionSpec {
  const [opening, closing] = [`<${name}>`, `</${name}>`];
  const at = usage.indexOf(closing);
  const shown = usage.startsWith(opening) && at >= 0;
  const description = shown ? usage.slice(at + closing.length).trim() : usage;
  const example = shown ? usage.slice(opening.length, at).trim() : '';
  return text(name, description === '' ? `Calls ${name}.` : description, [
    'input',
    example === '' ? 'Input.' : `Input, such as: ${example}`,
  ]);
}

const functionOf = (tool: ToolKind): FunctionSpec => (tool.name === 'search' ? search : tool.name === 'access' ? access : further(tool));

/** The functions that call these tools. */
export const lookUps = (tools: readonly ToolKind[]): readonly FunctionSpec[] => tools.map(functionOf);
export const everyFunction = (tools: readonly ToolKind[]): readonly FunctionSpec[] => [...lookUps(tools), answer];
export const answerOnly: readonly FunctionSpec[] = [answer];

/** The calls as JSON in the server's format, appended to what the model wrote; nothing without calls. */
export function renderCalls(calls: readonly FunctionCall[]): string {
  if (calls.length === 0) return '';
  const field = calls.map(({ id, name, arguments: given }) => ({ id, type: 'function', function: { name, arguments: given } }));
  return `<tool_calls>${JSON.stringify(field).replaceAll('<', '\\u003c')}</tool_calls>`;
}

/** What the model wrote besides its calls. */
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

/** The parameter name of each function; that of an additional tool is `input`. */
const parameters: ReadonlyMap<string, string> = new Map([
  ['search', 'query'],
  ['access', 'url'],
  ['answer', 'answer'],
]);

/** The action of a call, or why it is invalid. */
function actionOf({ name, arguments: given }: FunctionCall, tools: readonly ToolKind[]): Action | 'unknown_tool' | 'bad_arguments' {
  if (name !== 'answer' && !tools.some((tool) => tool.name === name)) return 'unknown_tool';
  const value = parsed(given)?.[parameters.get(name) ?? 'input'];
  if (typeof value !== 'string') return 'bad_arguments';
  return name === 'answer' ? { tool: 'answer', answer: strip(value) } : callOf(name, strip(value));
}

/** The format reward of one generation: that of its text, with at most one call and only valid calls. */
export const callsFormatOk = (content: string, calls: readonly FunctionCall[], tools: readonly ToolKind[]): boolean =>
  formatOk(content, tools) && calls.length <= 1 && calls.every((call) => typeof actionOf(call, tools) !== 'string');

/** The reply to a request that offered functions. */
export interface Called {
  readonly calls: readonly FunctionCall[];
  /** The text besides the calls. */
  readonly content: string;
  readonly finishReason: string;
}

/** Interprets calls as a turn. */
export function readCalls({ calls, content, finishReason }: Called, ask: TurnPrompt, tools: readonly ToolKind[]): Output {
  const asText = (): Output => readOutput(content, ask, { finishReason, tools });
  switch (ask.mode) {
    case 'read':
      return asText();
    case 'answer': {
      const given = calls.map((call) => actionOf(call, tools)).find((action) => typeof action !== 'string' && action.tool === 'answer');
      return given !== undefined && typeof given !== 'string' ? { action: given } : asText();
    }
    case 'act':
      return readAct({ call: calls[0], cutOff: finishReason === 'length' }, ask, tools);
  }
}

interface FirstCall {
  readonly call: FunctionCall | undefined;
  readonly cutOff: boolean;
}

function readAct({ call, cutOff }: FirstCall, ask: TurnPrompt, tools: readonly ToolKind[]): Output {
  if (call === undefined) return failed(cutOff ? 'cut_off' : 'no_action');
  const action = actionOf(call, tools);
  if (typeof action === 'string') return failed(cutOff ? 'cut_off' : action);
  if (action.tool === 'answer') return ask.mayAnswer ? { action } : failed('answer_too_early', 'refused');
  return argumentOf(action) === '' ? failed('empty_argument') : { action };
}
