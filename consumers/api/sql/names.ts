// What the identifiers of a statement stand for. The engine takes the bare name of a function for a lambda, so a name is
// allowed when it is known: a column, table or database of the project, or something that the statement itself declares
// (an alias, a parameter of a lambda, a query of WITH). A name that the engine has a function for is never allowed unless
// that function is: what a statement declares in one place must not open the function in another.
import { hasRule } from './arguments.ts';
import type { AstNode } from './ast.ts';
import { isAllowedFunction } from './functions.ts';
import { isAllowedType } from './types.ts';

/** What the engine and the project's database have names for. */
export interface Vocabulary {
  /** Every function of the engine, in lower case. */
  readonly functions: ReadonlySet<string>;
  /** Tables and columns of the project's database, and the database itself. */
  readonly names: ReadonlySet<string>;
  /** Databases that are not the project's. */
  readonly foreign: ReadonlySet<string>;
}

/** Columns of system.one and of the generators, virtual columns, and words that the tree shows as names. */
const OTHERS = new Set(
  (
    'dummy number zero generate_series system all ' +
    '_part _part_index _part_offset _part_uuid _partition_id _partition_value _table _database _sample_factor _row_exists'
  ).split(' '),
);
/** Columns of VALUES that were given no names. */
const UNNAMED = /^c\d{1,4}$/;

/** A node and all below it; a tree may be deeper than the stack. */
function* nodesOf(root: AstNode): Generator<AstNode> {
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    yield node;
    open.push(...node.children);
  }
}

/** Names that the tree itself declares. */
export function declaredIn(root: AstNode): Set<string> {
  const declared = new Set<string>();
  for (const node of nodesOf(root)) {
    if (node.alias !== '') declared.add(node.alias);
    for (const name of parametersOf(node)) declared.add(name);
  }
  return declared;
}

/** Aliases of a name that must not stand for a call, and aliases of such aliases: `with file as f, f as g` gives f and g. */
export function aliasesOfCalls(root: AstNode, functions: Vocabulary['functions']): Set<string> {
  const namings = [...nodesOf(root)].filter(({ kind, alias }) => kind === 'Identifier' && alias !== '');
  const found = new Set<string>();
  const isOne = ({ payload }: AstNode): boolean => found.has(payload) || !mayStandForCall(payload, functions);
  for (let size = -1; size !== found.size;) {
    size = found.size;
    for (const naming of namings) if (isOne(naming)) found.add(naming.alias);
  }
  return found;
}

/** False for functions that are not allowed, and for those whose arguments are judged. */
const mayStandForCall = (name: string, functions: Vocabulary['functions']): boolean =>
  isAllowedFunction(name) ? !hasRule(name) : !functions.has(name.toLowerCase());

/** Parameters of a lambda; names that a table's alias gives to its columns. */
function parametersOf(node: AstNode): readonly string[] {
  if (node.kind === 'TableExpression') return identifiersOf(node.children.find(({ kind }) => kind === 'ExpressionList'));
  if (node.payload !== 'lambda') return [];
  const parameters = node.children[0]?.children[0];
  return parameters?.kind === 'Identifier' ? [parameters.payload] : identifiersOf(parameters?.children[0]);
}

const identifiersOf = (list: AstNode | undefined): readonly string[] =>
  (list?.children ?? []).filter(({ kind }) => kind === 'Identifier').map(({ payload }) => payload);

/** What the identifiers of one statement are judged by. */
export interface Names extends Vocabulary {
  /** What the statement gives a name to. */
  readonly declared: ReadonlySet<string>;
  /** Those of its aliases that must not stand for a call. */
  readonly callAliases: ReadonlySet<string>;
}

export type Standing = 'known' | 'unknown' | 'function' | 'call only' | 'type';

/** `call` is the function whose argument the identifier is, where it is one. */
export function standingOf(node: AstNode, call: AstNode | undefined, known: Names): Standing {
  const name = node.payload;
  const [path = '', ...types] = name.split(/\.:`([^`]*)`/).filter((_, at) => at === 0 || at % 2 === 1);
  if (!types.every(isAllowedType)) return 'type';
  if (takesLambda(call)) return standingOfCall(name, known) ?? standingOfPath(path, known);
  if (isAllowedFunction(name)) return 'known';
  // A column of ours may have the name of a function, of a newer engine as well: where nothing is called, it is the column.
  if (known.functions.has(name.toLowerCase())) return known.names.has(name) ? 'known' : 'function';
  return standingOfPath(path, known);
}

/** Of a name that may stand for a call; undefined when nothing is known to be called by it. */
function standingOfCall(name: string, known: Names): Standing | undefined {
  if (known.callAliases.has(name)) return 'function';
  if (isAllowedFunction(name)) return hasRule(name) ? 'call only' : 'known';
  return known.functions.has(name.toLowerCase()) ? 'function' : undefined;
}

const standingOfPath = (path: string, known: Names): Standing => (isKnown(path, known) ? 'known' : 'unknown');

/** Functions that call another one with the elements of arrays or maps; with one argument alone there is nothing to call. */
const takesLambda = (call: AstNode | undefined): boolean =>
  call !== undefined && /^(?:array|map)/i.test(call.payload) && (call.children[0]?.children.length ?? 0) > 1;

/** The whole, or what stands before one of its dots. */
function isKnown(
  path: string,
  { names, declared }: { readonly names: ReadonlySet<string>; readonly declared: ReadonlySet<string> },
): boolean {
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    const name = path.slice(0, end);
    if (names.has(name) || declared.has(name) || OTHERS.has(name) || UNNAMED.test(name)) return true;
  }
  return false;
}

/** A column of a table, whose name nothing in the statement has. */
export function isColumn(path: string, known: { readonly names: ReadonlySet<string>; readonly declared: ReadonlySet<string> }): boolean {
  const name = path.slice(path.lastIndexOf('.') + 1);
  return known.names.has(name) && !known.declared.has(name);
}

/** Up to three names that are written nearly so, for the message. */
export function namesLike(
  name: string,
  known: { readonly names: ReadonlySet<string>; readonly declared: ReadonlySet<string> },
): readonly string[] {
  const wanted = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  if (wanted.length > 60) return [];
  const near = [...known.declared, ...known.names].filter(
    (other) => Math.abs(other.length - wanted.length) <= 2 && pairsApart(wanted, other.toLowerCase()) <= 0.5,
  );
  return [...new Set(near)].sort((a, b) => pairsApart(wanted, a) - pairsApart(wanted, b)).slice(0, 3);
}

/** Share of the pairs of letters that only one of two words has. */
function pairsApart(a: string, b: string): number {
  const pairs = (word: string): Set<string> => new Set(Array.from({ length: word.length + 1 }, (_, at) => ` ${word} `.slice(at, at + 2)));
  const [left, right] = [pairs(a), pairs(b)];
  const both = [...left].filter((pair) => right.has(pair)).length;
  return 1 - (2 * both) / (left.size + right.size);
}
