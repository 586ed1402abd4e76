import type { ToolResult } from '../../../../streams/core/agents.ts';
import { createFactbookTools } from '../../../factbook/tools.ts';

export const tools = createFactbookTools();

export const signal = new AbortController().signal;

export const failed: ToolResult = { status: 'error', errorType: 'down', text: 'down', items: [], cacheHit: false };

export const TWO = 'What is the highest point of the country whose capital is Vienna?';

export const THREE =
  'What is the capital of the country that has the shortest land border with the country whose national anthem is "La Marseillaise"?';
