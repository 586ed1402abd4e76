// Reads the text of EXPLAIN AST: one node a line, indented by its depth, `Kind payload (alias x) (children n)`.
// Strict on purpose: depths and child counts must agree on every line, so that a name with a line break in it cannot
// make up nodes or move them. Anything that does not agree is no tree.

export interface AstNode {
  readonly kind: string;
  /** What stands behind the kind: the name of a function, table or identifier; the value of a literal. */
  readonly payload: string;
  /** Empty when there is none. */
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

/** Total: a text that is no consistent tree is a result with the problem. */
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

/** There is one root, and every other node is at most one deeper than the node before it. */
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

/** Outside of texts, of which only literals have any: names with these words are refused before. */
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
