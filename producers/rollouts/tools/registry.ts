// Every tool that is built in, by name. A further one is a folder beside this file and a line here.
import type { Tool } from '../../../streams/core/agents.ts';
import { access, search, type ToolKind } from '../../../streams/core/tools.ts';

/** A tool without `create` depends on where agents look things up: it comes from there. */
type RegisteredTool = ToolKind & { readonly create?: () => Tool['call'] };

export type ToolRegistry = Readonly<Record<string, RegisteredTool>>;

export const builtInTools: ToolRegistry = { search, access };

/** The tools of the registry, those of `source` where they are made there, and `own`, which take the place of others of their name. */
export function assembleTools(source: readonly Tool[], own: readonly Tool[], registry: ToolRegistry = builtInTools): readonly Tool[] {
  const registered = Object.values(registry).flatMap(({ create, name, usage }) =>
    create === undefined ? [] : [{ name, usage, call: create() }],
  );
  const byName = new Map([...source, ...registered, ...own].map((tool) => [tool.name, tool]));
  return [...byName.values()];
}
