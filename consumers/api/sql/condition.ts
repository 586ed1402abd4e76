// A user's condition that becomes part of one of our statements: it is checked like a statement, and must be a single expression, so that
// the surrounding text keeps its meaning.
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { parseAst, type AstNode } from './ast.ts';
import { userErrorOf } from './limits.ts';
import { judge } from './sandbox.ts';

const SELECT = 'SELECT ';
/** One query with one list of one expression: an alias, a FROM or a second column cannot hide in it. */
const SHAPE = ['SelectWithUnionQuery', 'ExpressionList', 'SelectQuery', 'ExpressionList'];

/** The condition in parentheses, as ClickHouse's formatter writes it. Throws SQL_REFUSED or SQL_INVALID before running any of it. */
export async function judgeCondition(store: Store, condition: string): Promise<string> {
  try {
    const { statement, tree } = await judge(store, { query: `${SELECT}(\n${condition}\n)`, params: {} });
    const parsed = parseAst(tree);
    if (!parsed.ok || !isOneExpression(parsed.root) || !statement.startsWith(SELECT)) {
      throw new PlatformError('SQL_REFUSED', 'checking the condition: it must be one expression, as it would follow WHERE');
    }
    return `(${statement.slice(SELECT.length)})`;
  } catch (error) {
    throw userErrorOf(error);
  }
}

/** Besides the list of queries, the root contains the name of the output format of EXPLAIN itself. */
function isOneExpression(root: AstNode): boolean {
  const [list, format, ...others] = root.children;
  if (others.length > 0 || (format !== undefined && format.kind !== 'Identifier')) return false;
  let node: AstNode | undefined = list === undefined ? undefined : { ...root, children: [list] };
  for (const kind of SHAPE) {
    if (node?.kind !== kind || node.children.length !== 1) return false;
    node = node.children[0];
  }
  return node !== undefined;
}
