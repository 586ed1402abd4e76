// Makes one tool call with a time limit. Every outcome is a result with a status; only a bug in a tool makes the call throw.
import type { Tool, ToolCall, ToolResult } from '../../../streams/core/agents.ts';
import { argumentOf, nameOf } from '../../../streams/core/tools.ts';
import { deferred } from '../../../streams/core/waiting.ts';

/** The result of a call that returned nothing. */
export const noResult = (status: ToolResult['status'], errorType: string, text: string): ToolResult => ({
  status,
  errorType,
  text,
  items: [],
  cacheHit: false,
});

export interface CallOptions {
  readonly timeoutMs: number;
  /** Ends the call at once, as a timeout with the error type `aborted`. */
  readonly signal: AbortSignal;
}

/** Calls the tool of an action; a missing tool gives a refusal, a slow one a timeout. */
export async function callTool(tools: readonly Tool[], action: ToolCall, { timeoutMs, signal }: CallOptions): Promise<ToolResult> {
  const tool = tools.find(({ name }) => name === nameOf(action));
  if (tool === undefined) return noResult('refused', 'unknown_tool', `There is no tool ${nameOf(action)}.`);
  const controller = new AbortController();
  const stopped = deferred<ToolResult>();
  const end = (errorType: string, text: string): void => {
    stopped.resolve(noResult('timeout', errorType, text));
    controller.abort();
  };
  const onAbort = (): void => {
    end('aborted', 'The call was stopped.');
  };
  const timer = setTimeout(() => {
    end('timeout', `The tool ${nameOf(action)} did not answer in ${timeoutMs} ms.`);
  }, timeoutMs);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    const called = tool.call(argumentOf(action), controller.signal).catch((error: unknown) => {
      if (controller.signal.aborted) return stopped.promise;
      throw error;
    });
    return await Promise.race([stopped.promise, called]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
