// Decides from the syntax tree of a statement whether it may run. Fails closed: it refuses a node kind that is not listed here, a function
// that is not listed in functions.ts, an unknown name (names.ts), an argument that names something not on a list (arguments.ts), and a
// table outside the project's database.
import { adviceOnArguments } from './arguments.ts';
import { parseAst, type AstNode } from './ast.ts';
import { isAllowedFunction, isAllowedTableFunction } from './functions.ts';
import { aliasesOfCalls, declaredIn, isColumn, namesLike, standingOf, type StatementNames, type Vocabulary } from './names.ts';

export type SqlVerdict = { readonly allowed: true } | Refusal;

export interface Refusal {
  readonly allowed: false;
  /** An unknown name is probably a mistake, not an attack. */
  readonly unknown?: true;
  /** The refused part. */
  readonly part: string;
  /** What to do instead. */
  readonly instead: string;
}

export const refuse = (part: string, instead: string): Refusal => ({ allowed: false, part, instead });

/** Tables outside the project's database that contain no user data. */
export const SYSTEM_TABLES: ReadonlySet<string> = new Set(['one', 'numbers', 'numbers_mt', 'zeros', 'zeros_mt']);

/** Node kinds without a meaning of their own: only their children matter. */
const PLAIN = new Set([
  'SelectWithUnionQuery',
  'SelectIntersectExceptQuery',
  'SelectQuery',
  'ExpressionList',
  'Literal',
  'Asterisk',
  'QualifiedAsterisk',
  'ColumnsRegexpMatcher',
  'ColumnsListMatcher',
  'QualifiedColumnsRegexpMatcher',
  'QualifiedColumnsListMatcher',
  'ColumnsTransformerList',
  'ColumnsExceptTransformer',
  'ColumnsReplaceTransformer',
  'ColumnsReplaceTransformer::Replacement',
  'Subquery',
  'WithElement',
  'TablesInSelectQuery',
  'TablesInSelectQueryElement',
  'TableExpression',
  'TableJoin',
  'ArrayJoin',
  'OrderByElement',
  'WindowDefinition',
  'WindowListElement',
  'InterpolateElement',
]);

/** Comparisons whose right side may name a table. */
const MEMBERSHIP = new Set(['in', 'notin', 'nullin', 'notnullin', 'globalin', 'globalnotin', 'globalnullin', 'globalnotnullin']);

const INSTEAD_OF_TABLE = 'select from the tables of this database; GET /v1/sql/tables lists them';

export interface StatementContext {
  /** The project's database. */
  readonly database: string;
  readonly vocabulary: Vocabulary;
  /** Names that the text declares but the tree does not show: those of WITH. */
  readonly declared: readonly string[];
}

interface NameScope extends StatementNames {
  readonly database: string;
}

interface AstPosition {
  readonly node: AstNode;
  readonly parent: AstNode | undefined;
  /** The function call that contains the node as an argument or parameter. */
  readonly call: AstNode | undefined;
}

/** `text` is the output of EXPLAIN AST for the statement (with the name of its own output format at the end). */
export function decide(text: string, context: StatementContext): SqlVerdict {
  const parsed = parseAst(text);
  if (!parsed.ok) return refuse(`a statement whose syntax tree cannot be read (${parsed.problem})`, 'simplify the statement');
  if (parsed.root.kind !== 'SelectWithUnionQuery') return refuse(`a ${parsed.root.kind} statement`, 'send one SELECT');
  const root = withoutFormat(parsed.root);
  const { vocabulary, database } = context;
  const declared = new Set([...declaredIn(root), ...context.declared]);
  const scope = { ...vocabulary, database, declared, callAliases: aliasesOfCalls(root, vocabulary.functions) };
  const open: AstPosition[] = [{ node: root, parent: undefined, call: undefined }];
  for (let place = open.pop(); place; place = open.pop()) {
    const verdict = decideNode(place, scope);
    if (!verdict.allowed) return verdict;
    const { node, parent } = place;
    const call = node.kind === 'ExpressionList' && parent?.kind === 'Function' ? parent : undefined;
    for (const child of node.children) open.push({ node: child, parent: node, call });
  }
  return { allowed: true };
}

/** Besides the list of queries, the root contains the name of the output format of EXPLAIN itself. */
const withoutFormat = (root: AstNode): AstNode => ({
  ...root,
  children: root.children.filter(({ kind, alias }, at) => at === 0 || kind !== 'Identifier' || alias !== ''),
});

const ALLOWED: SqlVerdict = { allowed: true };

function decideNode({ node, parent, call }: AstPosition, scope: NameScope): SqlVerdict {
  switch (node.kind) {
    case 'Set':
      return refuse('a SETTINGS clause', 'leave it out; time, rows and memory are limited by the server');
    case 'TableIdentifier':
      return decideTable(node.payload, scope.database);
    case 'Identifier':
      return decideIdentifier(node, call, scope);
    case 'Function':
      return parent?.kind === 'TableExpression' ? decideTableFunction(node) : decideFunction(node, scope);
    case 'ColumnsApplyTransformer':
      return refuse('APPLY', 'write the function call for each column');
    default:
      return PLAIN.has(node.kind) ? ALLOWED : refuse(`the construct ${node.kind}`, 'write it another way');
  }
}

function decideIdentifier(node: AstNode, call: AstNode | undefined, scope: NameScope): SqlVerdict {
  const name = quote(node.payload);
  switch (standingOf(node, call, scope)) {
    case 'known':
      return ALLOWED;
    case 'function':
      return refuse(
        `the name ${name}, which stands for a function of ClickHouse`,
        'choose another alias, or write the table before a column: t.name',
      );
    case 'call only':
      return refuse(`the function ${name} without its arguments`, `write a call, x -> ${node.payload}(x), or choose another alias`);
    case 'type':
      return refuse(`the type in ${name}`, 'read it as a plain type, such as String');
    case 'unknown': {
      const near = namesLike(node.payload, scope);
      const advice = `${near.length === 0 ? '' : `maybe you meant ${near.map(quote).join(', ')}; `}${KNOWN_NAMES}`;
      return { ...refuse(`the name ${name}`, advice), unknown: true };
    }
  }
}

const KNOWN_NAMES =
  'GET /v1/sql/tables, or \\d at the prompt of turnstream sql, lists tables and columns, and an expression gets a name by AS';

const NAME = /^(?:([A-Za-z_]\w*)\.)?([A-Za-z_]\w*)$/;

function decideTable(name: string, database: string): SqlVerdict {
  const match = NAME.exec(name);
  if (match === null) return refuse(`the table name ${quote(name)}`, INSTEAD_OF_TABLE);
  const [, owner, table = ''] = match;
  if (owner === undefined || owner === database) return ALLOWED;
  if (owner === 'system' && SYSTEM_TABLES.has(table)) return ALLOWED;
  return refuse(`the table ${quote(name)} outside this database`, INSTEAD_OF_TABLE);
}

function decideTableFunction(node: AstNode): SqlVerdict {
  if (isAllowedTableFunction(node.payload)) return ALLOWED;
  return refuse(`the table function ${quote(node.payload)}`, INSTEAD_OF_TABLE);
}

function decideFunction(node: AstNode, scope: NameScope): SqlVerdict {
  if (!isAllowedFunction(node.payload)) {
    return refuse(`the function ${quote(node.payload)}`, 'use a function that reads nothing but its arguments');
  }
  const advice = adviceOnArguments(node, (name) => isColumn(name, scope));
  if (advice !== undefined) return refuse(`${quote(node.payload)} with these arguments`, advice);
  return MEMBERSHIP.has(node.payload.toLowerCase()) ? decideMembership(node, scope.database) : ALLOWED;
}

/** `x in name` reads the table `name` if it exists, but the tree shows only an identifier. */
function decideMembership(node: AstNode, database: string): SqlVerdict {
  const right = node.children[0]?.children[1];
  if (right?.kind !== 'Identifier' || decideTable(right.payload, database).allowed) return ALLOWED;
  return refuse(`${quote(right.payload)} on the right of IN`, 'write IN (SELECT …), or has(array, value) for an array');
}

/** A name in a printable, short form for messages. */
function quote(name: string): string {
  const printable = name.replace(/[\u0000-\u001f\u007f]/g, '?');
  return `"${printable.length > 80 ? `${printable.slice(0, 80)}…` : printable}"`;
}
