interface SpanOfTool {
  readonly tool: string;
  readonly span: number;
  readonly calls: number;
}

const MOST_TOOLS = 20;

/** The spans of the most used tools, by tool and time. */
export function ofMostUsed<S extends SpanOfTool>(spans: readonly S[]): readonly S[] {
  const called = new Map<string, number>();
  for (const { tool, calls } of spans) called.set(tool, (called.get(tool) ?? 0) + calls);
  const most = [...called].sort(([, a], [, b]) => b - a).slice(0, MOST_TOOLS);
  const tools = new Set(most.map(([tool]) => tool));
  return spans.filter(({ tool }) => tools.has(tool)).sort((a, b) => (a.tool === b.tool ? a.span - b.span : a.tool < b.tool ? -1 : 1));
}
