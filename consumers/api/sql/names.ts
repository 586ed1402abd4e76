// Resolves the identifiers of a statement. The engine accepts a bare function name as a lambda, so a name is allowed only if it is known: a
// column, table or database of the project, or a name that the statement declares (an alias, a lambda parameter, a WITH query). A name of
// an engine function is never allowed unless the function is: a declaration in one place must not enable the function in another.
import { hasRule } from './arguments.ts';
import type { AstNode } from './ast.ts';
import { isAllowedFunction } from './functions.ts';
import { isAllowedType } from './types.ts';

/** The names known to the engine and the project's database. */
export interface Vocabulary {
  /** Every function of the engine, in lowercase. */
  readonly functions: ReadonlySet<string>;
  /** Tables and columns of the project's database, and the database itself. */
  readonly names: ReadonlySet<string>;
  /** Databases other than the project's. */
  readonly foreign: ReadonlySet<string>;
}

/** Columns of system.one and of the generators, virtual columns, and keywords that the tree shows as names. */
const OTHERS = new Set(
  (
    'dummy number zero generate_series system all ' +
    '_part _part_index _part_offset _part_uuid _partition_id _partition_value _table _database _sample_factor _row_exists'
  ).split(' '),
);
/** Columns of VALUES without names. */
const UNNAMED = /^c\d{1,4}$/;

/** A node and all its descendants; iterative, because a tree may be deeper than the stack. */
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

/** Aliases of names that must not stand for a call, including aliases of such aliases: `with file as f, f as g` gives f and g. */
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

/** False for functions that are not allowed, and for those with argument rules. */
const mayStandForCall = (name: string, functions: Vocabulary['functions']): boolean =>
  isAllowedFunction(name) ? !hasRule(name) : !functions.has(name.toLowerCase());

/** Parameters of a lambda, and column names in a table alias. */
function parametersOf(node: AstNode): readonly string[] {
  if (node.kind === 'TableExpression') return identifiersOf(node.children.find(({ kind }) => kind === 'ExpressionList'));
  if (node.payload !== 'lambda') return [];
  const parameters = node.children[0]?.children[0];
  return parameters?.kind === 'Identifier' ? [parameters.payload] : identifiersOf(parameters?.children[0]);
}

const identifiersOf = (list: AstNode | undefined): readonly string[] =>
  (list?.children ?? []).filter(({ kind }) => kind === 'Identifier').map(({ payload }) => payload);

/** The names that identifiers of one statement are checked against. */
export interface StatementNames extends Vocabulary {
  /** Names that the statement declares. */
  readonly declared: ReadonlySet<string>;
  /** Aliases that must not stand for a call. */
  readonly callAliases: ReadonlySet<string>;
}

export type NameStatus = 'known' | 'unknown' | 'function' | 'call only' | 'type';

/** `call` is the function call that has the identifier as an argument, if any. */
export function standingOf(node: AstNode, call: AstNode | undefined, known: StatementNames): NameStatus {
  const name = node.payload;
  const [path = '', ...types] = name.split(/\.:`([^`]*)`/).filter((_, at) => at === 0 || at % 2 === 1);
  if (!types.every(isAllowedType)) return 'type';
  if (takesLambda(call)) return standingOfCall(name, known) ?? standingOfPath(path, known);
  if (isAllowedFunction(name)) return 'known';
  // A column may share its name with a function, even of a newer engine: where nothing is called, the name is the column.
  if (known.functions.has(name.toLowerCase())) return known.names.has(name) ? 'known' : 'function';
  return standingOfPath(path, known);
}

/** Resolves a name that may stand for a call; undefined when the name is unknown. */
function standingOfCall(name: string, known: StatementNames): NameStatus | undefined {
  if (known.callAliases.has(name)) return 'function';
  if (isAllowedFunction(name)) return hasRule(name) ? 'call only' : 'known';
  return known.functions.has(name.toLowerCase()) ? 'function' : undefined;
}

const standingOfPath = (path: string, known: StatementNames): NameStatus => (isKnown(path, known) ? 'known' : 'unknown');

/** Functions that call another function with elements of arrays or maps; with a single argument there is nothing to call. */
const takesLambda = (call: AstNode | undefined): boolean =>
  call !== undefined && /^(?:array|map)/i.test(call.payload) && (call.children[0]?.children.length ?? 0) > 1;

/** The whole path, or its part before one of the dots. */
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

/** A table column whose name the statement does not redeclare. */
export function isColumn(path: string, known: { readonly names: ReadonlySet<string>; readonly declared: ReadonlySet<string> }): boolean {
  const name = path.slice(path.lastIndexOf('.') + 1);
  return known.names.has(name) && !known.declared.has(name);
}

/** Up to three similar names, for the message. */
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

/** Share of letter pairs that only one of two words has. */
function pairsApart(a: string, b: string): number {
  const pairs = (word: string): Set<string> => new Set(Array.from({ length: word.length + 1 }, (_, at) => ` ${word} `.slice(at, at + 2)));
  const [left, right] = [pairs(a), pairs(b)];
  const both = [...left].filter((pair) => right.has(pair)).length;
  return 1 - (2 * both) / (left.size + right.size);
}
