// Parses the text of EXPLAIN AST: one node per line, indented by depth, `Kind payload (alias x) (children n)`. Deliberately strict: depths
// and child counts must match on every line, so that a name with a line break cannot forge or move nodes. Text that does not match is not a
// tree.

export interface AstNode {
  readonly kind: string;
  /** The text after the kind: the name of a function, table or identifier, or the value of a literal. */
  readonly payload: string;
  /** Empty if there is none. */
  readonly alias: string;
  readonly children: readonly AstNode[];
}

export type ParsedAst = { readonly ok: true; readonly root: AstNode } | { readonly ok: false; readonly problem: string };

interface OpenNode {
  readonly kind: string;
  readonly payload: string;
  readonly alias: string;
  readonly children: OpenNode[];
  readonly declared: number;
}

const CHILDREN = / \(children (\d+)\)$/;
const MAX_NODES = 20_000;

/** Never throws: for an inconsistent tree it returns the problem. */
export function parseAst(text: string): ParsedAst {
  const lines = text.split('\n').filter((line) => line !== '');
  if (lines.length > MAX_NODES) return bad(`it has more than ${MAX_NODES} nodes`);
  const path: OpenNode[] = [];
  let root: OpenNode | undefined;
  for (const line of lines) {
    const body = line.trimStart();
    const depth = line.length - body.length;
    if (!isPlaced(depth, { path, root })) return bad('a node is at a depth that no node opens');
    const node = openNode(body);
    path.length = depth;
    path.at(-1)?.children.push(node);
    path.push(node);
    root ??= node;
  }
  if (root === undefined) return bad('it is empty');
  return everyCountHolds(root) ? { ok: true, root } : bad('a node has another number of children than it says');
}

/** There is one root, and every other node is at most one level deeper than the previous one. */
const isPlaced = (depth: number, seen: { readonly path: readonly OpenNode[]; readonly root: OpenNode | undefined }): boolean =>
  depth === 0 ? seen.root === undefined : depth <= seen.path.length;

const bad = (problem: string): ParsedAst => ({ ok: false, problem });

function openNode(body: string): OpenNode {
  const declared = CHILDREN.exec(body);
  const head = declared === null ? body : body.slice(0, declared.index);
  const space = head.indexOf(' ');
  const kind = space < 0 ? head : head.slice(0, space);
  return {
    kind,
    ...namesOf(kind, space < 0 ? '' : head.slice(space + 1)),
    children: [],
    declared: declared === null ? 0 : Number(declared[1]),
  };
}

/** Matches outside of string literals only: names with these words were rejected earlier. */
const ALIAS = /^((?:'(?:[^'\\]|\\.)*'|[^'])*?) ?\(alias (.*)\)$/s;
const ALIAS_OF_NAME = /^(.*?) ?\(alias (.*)\)$/s;

function namesOf(kind: string, rest: string): { readonly payload: string; readonly alias: string } {
  const [, payload, alias] = (kind === 'Literal' ? ALIAS : ALIAS_OF_NAME).exec(rest) ?? [];
  return payload === undefined || alias === undefined ? { payload: rest, alias: '' } : { payload, alias };
}

function everyCountHolds(root: OpenNode): boolean {
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    if (node.declared !== node.children.length) return false;
    open.push(...node.children);
  }
  return true;
}
