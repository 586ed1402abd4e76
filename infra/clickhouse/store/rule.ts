// Covers what the engine's grants do not: functions that access anything outside of it, table functions that take expressions as strings,
// files that its client part would read or write, and backups. Most statements contain none of these names, and one scan of their text
// accepts them. The scan cannot be fooled: a missing word is missing, however comments and quotes are parsed. The others are checked in the
// form that the engine's own formatter gives them, without comments and with plain names.
import { localEngines } from './grants.ts';
import { localFunctions } from './local-functions.ts';
import { tokens, type StatementToken } from '../sql-text.ts';

/** Names that the running engine knows. */
export interface EngineNames {
  readonly functions: readonly string[];
  readonly tableFunctions: readonly string[];
  readonly tableEngines: readonly string[];
  /** Settings with string values that are neither closed nor known to be safe. */
  readonly settings: readonly string[];
}

export interface StatementRule {
  /** True when the text contains a word that may be rejected. */
  mustLook(sql: string): boolean;
  /** The rejected part of a formatted statement, if any. */
  refused(formatted: string): string | undefined;
  /** True for a setting that cannot be set. */
  refusesSetting(name: string): boolean;
}

/** Table functions that generate rows, or read the tables of the store. */
const localTableFunctions = new Set(
  (
    'numbers numbers_mt zeros zeros_mt primes generateseries generate_series view viewifpermitted merge loop ' +
    'mergetreeindex mergetreeprojection mergetreetextindex mergetreeanalyzeindexes'
  ).split(' '),
);

/** A custom disk in the settings of a table: its folder is created before the engine checks permissions. */
const DISK = 'disk';
const localEngineNames: ReadonlySet<string> = new Set(localEngines.map((name) => name.toLowerCase()));
const CLIENT_WORDS = ['infile', 'outfile', 'backup', 'restore'];
/** Both a function and a table function; the first argument of the function is a pattern with braces, which no format name has. */
const PATTERN_FUNCTION = 'format';
/** Table functions that take rows as tuples; the formatter writes VALUES in the place of a table as the second one. */
const ROWS_FUNCTIONS: ReadonlySet<string> = new Set(['values', 'sqlstandardvalues']);

const isPlain = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name);
const alternatives = (names: Iterable<string>): string => [...names].join('|');

/** Creates the rule for an engine with these names. */
export function createRule(names: EngineNames): StatementRule {
  const lower = (list: readonly string[]): readonly string[] => list.map((name) => name.toLowerCase()).filter(isPlain);
  const functions = new Set(lower(names.functions).filter((name) => !localFunctions.has(name)));
  const engines = lower(names.tableEngines).filter((name) => !localEngineNames.has(name) && !localFunctions.has(name));
  const called = [...lower(names.tableFunctions), ...engines, DISK];
  const tables = new Set(called.filter((name) => !localTableFunctions.has(name) && !functions.has(name)));
  const settings = new Set(lower(names.settings));
  const anywhere = alternatives([...functions, ...settings, ...CLIENT_WORDS]);
  // These precede a parenthesis; comments and quotes around the name may come between.
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

const textOf = (sql: string, token: StatementToken | undefined): string => (token === undefined ? '' : sql.slice(token.start, token.end));

/** A name without quotes; the formatter escapes with backslashes. */
function nameOf(sql: string, token: StatementToken): string {
  const text = textOf(sql, token);
  return token.kind === 'word' ? text : text.slice(1, -1).replace(/\\(.)/gs, '$1');
}

function isRefusedCall(sql: string, all: readonly StatementToken[], at: number): boolean {
  if (textOf(sql, all[at + 1]) !== '(') return false;
  const name = textOf(sql, all[at]).toLowerCase();
  if (ROWS_FUNCTIONS.has(name)) return !beginsWithTuple(sql, all, at);
  return name !== PATTERN_FUNCTION || !hasPattern(sql, all, at);
}

/** A string as the first argument would be a table structure, with expressions as defaults; so would a string in parentheses. */
function beginsWithTuple(sql: string, all: readonly StatementToken[], at: number): boolean {
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

function hasPattern(sql: string, all: readonly StatementToken[], at: number): boolean {
  const pattern = all[at + 2];
  return pattern?.kind === 'text' && textOf(sql, pattern).includes('{') && [',', ')'].includes(textOf(sql, all[at + 3]));
}
