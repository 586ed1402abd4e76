// What the grants of the engine do not cover: functions that reach out of it, table functions that take expressions as texts,
// files that its client part would read or write, and backups. Most statements hold none of these words and are let
// through by one look at their text, which cannot be fooled: a word that is not there is not there, however comments and quotes
// are read. The others are judged in the form that the engine's own formatter gives them, where comments are gone and names
// stand as they are.
import { localEngines } from './grants.ts';
import { localFunctions } from './local-functions.ts';
import { tokens, type Token } from './sql-text.ts';

/** What the engine at hand knows. */
export interface EngineNames {
  readonly functions: readonly string[];
  readonly tableFunctions: readonly string[];
  readonly tableEngines: readonly string[];
  /** Settings with a text for a value that are neither closed nor known to lead nowhere. */
  readonly settings: readonly string[];
}

export interface Rule {
  /** True when the text holds a word that may be refused. */
  mustLook(sql: string): boolean;
  /** The part of a statement, as the engine's formatter writes it, that is refused. */
  refused(formatted: string): string | undefined;
  /** True for a setting that cannot be set. */
  refusesSetting(name: string): boolean;
}

/** Table functions that make rows out of numbers, or read the tables of the store. */
const localTableFunctions = new Set(
  (
    'numbers numbers_mt zeros zeros_mt primes generateseries generate_series view viewifpermitted merge loop ' +
    'mergetreeindex mergetreeprojection mergetreetextindex mergetreeanalyzeindexes'
  ).split(' '),
);

/** A disk of one's own, in the settings of a table: its folder is made before the engine asks whether it may be. */
const DISK = 'disk';
const localEngineNames: ReadonlySet<string> = new Set(localEngines.map((name) => name.toLowerCase()));
const CLIENT_WORDS = ['infile', 'outfile', 'backup', 'restore'];
/** A function and a table function; as a function its first argument is a pattern with braces, which no format has. */
const PATTERN_FUNCTION = 'format';
/** Table functions that take rows as tuples; the second is what the formatter makes of VALUES in the place of a table. */
const ROWS_FUNCTIONS: ReadonlySet<string> = new Set(['values', 'sqlstandardvalues']);

const isPlain = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name);
const alternatives = (names: Iterable<string>): string => [...names].join('|');

/** For the engine that knows these names. */
export function createRule(names: EngineNames): Rule {
  const lower = (list: readonly string[]): readonly string[] => list.map((name) => name.toLowerCase()).filter(isPlain);
  const functions = new Set(lower(names.functions).filter((name) => !localFunctions.has(name)));
  const engines = lower(names.tableEngines).filter((name) => !localEngineNames.has(name) && !localFunctions.has(name));
  const called = [...lower(names.tableFunctions), ...engines, DISK];
  const tables = new Set(called.filter((name) => !localTableFunctions.has(name) && !functions.has(name)));
  const settings = new Set(lower(names.settings));
  const anywhere = alternatives([...functions, ...settings, ...CLIENT_WORDS]);
  // These stand before a parenthesis; comments and the quotes of a name may stand between.
  const calls = `(?:${alternatives(tables)})(?!\\w)(?!\\s*(?:[\\w,);'=<>.\\]:]|$))`;
  const suspicious = new RegExp(`(?<!\\w)(?:(?:${anywhere})(?!\\w)|${calls})`, 'i');
  return {
    mustLook: (sql) => suspicious.test(sql) || (sql.includes('\\') && /[`"]/.test(sql)),
    refused: (formatted) => findRefused(formatted, { functions, tables, settings }),
    refusesSetting: (name) => settings.has(name.toLowerCase()),
  };
}

interface Refusals {
  readonly functions: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
  readonly settings: ReadonlySet<string>;
}

function findRefused(formatted: string, refusals: Refusals): string | undefined {
  const all = [...tokens(formatted)];
  for (const [at, token] of all.entries()) {
    if (token.kind !== 'word' && token.kind !== 'name') continue;
    const name = nameOf(formatted, token);
    const lower = name.toLowerCase();
    const named = refusedName(name, refusals) ?? (token.kind === 'word' && CLIENT_WORDS.includes(lower) ? lower.toUpperCase() : undefined);
    if (named !== undefined) return named;
    if (refusals.tables.has(lower) && isRefusedCall(formatted, all, at)) return `${name}(…)`;
  }
  return undefined;
}

function refusedName(name: string, { functions, settings }: Refusals): string | undefined {
  if (functions.has(name.toLowerCase())) return `the function ${name}`;
  return settings.has(name.toLowerCase()) ? `the setting ${name}` : undefined;
}

const textOf = (sql: string, token: Token | undefined): string => (token === undefined ? '' : sql.slice(token.start, token.end));

/** A name without its quotes; the formatter escapes with a backslash. */
function nameOf(sql: string, token: Token): string {
  const text = textOf(sql, token);
  return token.kind === 'word' ? text : text.slice(1, -1).replace(/\\(.)/gs, '$1');
}

function isRefusedCall(sql: string, all: readonly Token[], at: number): boolean {
  if (textOf(sql, all[at + 1]) !== '(') return false;
  const name = textOf(sql, all[at]).toLowerCase();
  if (ROWS_FUNCTIONS.has(name)) return !beginsWithTuple(sql, all, at);
  return name !== PATTERN_FUNCTION || !hasPattern(sql, all, at);
}

/** A first argument that is a text would be a table's structure, with expressions as defaults; a text in parentheses is one too. */
function beginsWithTuple(sql: string, all: readonly Token[], at: number): boolean {
  let depth = 0;
  for (const token of all.slice(at + 2)) {
    const text = textOf(sql, token);
    if (text === '(') depth += 1;
    if (text === ')') depth -= 1;
    if (depth < 1) return false;
    if (text === ',' && depth === 1) return true;
  }
  return false;
}

function hasPattern(sql: string, all: readonly Token[], at: number): boolean {
  const pattern = all[at + 2];
  return pattern?.kind === 'text' && textOf(sql, pattern).includes('{') && [',', ')'].includes(textOf(sql, all[at + 3]));
}
