// Every built-in tool, by name. To add one, add a folder beside this file and a line here.
import type { Tool } from '../../../streams/core/agents.ts';
import { access, search, type ToolKind } from '../../../streams/core/tools.ts';

/** A tool without `create` depends on the source that agents look things up in, and comes from that source. */
type RegisteredTool = ToolKind & { readonly create?: () => Tool['call'] };

export type ToolRegistry = Readonly<Record<string, RegisteredTool>>;

export const builtInTools: ToolRegistry = { search, access };

/** The tools of `source`, those that the registry creates, and `own`; a later one replaces an earlier one of the same name. */
export function assembleTools(source: readonly Tool[], own: readonly Tool[], registry: ToolRegistry = builtInTools): readonly Tool[] {
  const registered = Object.values(registry).flatMap(({ create, name, usage }) =>
    create === undefined ? [] : [{ name, usage, call: create() }],
  );
  const byName = new Map([...source, ...registered, ...own].map((tool) => [tool.name, tool]));
  return [...byName.values()];
}
