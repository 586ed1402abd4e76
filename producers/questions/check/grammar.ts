// The grammar of the questions that the factbook writer generates, parsed from their words alone. A question asks for a field of a country;
// clauses describe the country; a clause that leads to another country starts that country's description.

export type ParsedClause =
  | { readonly kind: 'says'; readonly path: readonly string[]; readonly value: string }
  | { readonly kind: 'begins'; readonly path: readonly string[]; readonly letter: string }
  | {
      readonly kind: 'within';
      readonly path: readonly string[];
      readonly low: number;
      readonly high: number;
      /** Year of the estimate; undefined when the question states none. */
      readonly year: number | undefined;
      /** True when the figure changes every year. */
      readonly changes: boolean;
    }
  | { readonly kind: 'leads'; readonly relation: string; readonly year: number | undefined };

export interface ReadQuestion {
  readonly asked: readonly string[];
  /** In word order; the clauses after a `leads` are about the country that it leads to. */
  readonly clauses: readonly ParsedClause[];
}

/** Field that names office holders. */
const OFFICE = 'Executive branch';

/** Things that change over time but are stated or asked for without a date. */
export function undatedIn({ asked, clauses }: ReadQuestion): readonly string[] {
  const paths = clauses.map((reading) => {
    if (reading.kind === 'leads') return DATED.has(reading.relation) && reading.year === undefined ? [reading.relation] : [];
    const isOpen = reading.kind === 'within' ? reading.changes && reading.year === undefined : reading.path.includes(OFFICE);
    return isOpen ? reading.path : [];
  });
  return [...paths, asked.includes(OFFICE) ? asked : []].filter((path) => path.length > 0).map((path) => path.join(', '));
}

const GOVERNMENT = 'Government';

/** The phrase before a value, and the field that holds the value. */
const values: readonly (readonly [string, readonly string[]])[] = [
  ['whose capital is ', [GOVERNMENT, 'Capital', 'name']],
  ['whose national anthem is ', [GOVERNMENT, 'National anthem', 'name']],
  ['whose highest point is ', ['Geography', 'Elevation extremes', 'highest point']],
  ['whose lowest point is ', ['Geography', 'Elevation extremes', 'lowest point']],
  ['whose exchange rates are quoted in ', ['Economy', 'Exchange rates']],
  ['whose Internet country code is ', ['Communications', 'Internet country code']],
  ['whose independence dates from ', [GOVERNMENT, 'Independence']],
  ['whose name in its local long form is ', [GOVERNMENT, 'Country name', 'local long form']],
  ['whose former name is ', [GOVERNMENT, 'Country name', 'former']],
  ['whose chief of state is ', [GOVERNMENT, 'Executive branch', 'chief of state']],
  ['whose head of government is ', [GOVERNMENT, 'Executive branch', 'head of government']],
  ['whose national anthem has lyrics by ', [GOVERNMENT, 'National anthem', 'lyrics/music']],
  ['whose national anthem has music by ', [GOVERNMENT, 'National anthem', 'lyrics/music']],
  ['whose major seaport is ', ['Transportation', 'Ports and terminals', 'major seaport(s)']],
];

/** The phrase before a word, and the field that contains the word. */
const wordsIn: readonly (readonly [string, readonly string[]])[] = [
  ['whose capital has a name with the word ', [GOVERNMENT, 'Capital', 'name']],
  ['whose national anthem has a name with the word ', [GOVERNMENT, 'National anthem', 'name']],
  ['whose highest point has a name with the word ', ['Geography', 'Elevation extremes', 'highest point']],
  ['whose lowest point has a name with the word ', ['Geography', 'Elevation extremes', 'lowest point']],
  ['whose local long form has the word ', [GOVERNMENT, 'Country name', 'local long form']],
  ['whose former name has the word ', [GOVERNMENT, 'Country name', 'former']],
  ['whose national anthem has lyrics by somebody called ', [GOVERNMENT, 'National anthem', 'lyrics/music']],
  ['whose national anthem has music by somebody called ', [GOVERNMENT, 'National anthem', 'lyrics/music']],
];

const beginnings: Readonly<Record<string, readonly string[]>> = {
  capital: [GOVERNMENT, 'Capital', 'name'],
  'national anthem': [GOVERNMENT, 'National anthem', 'name'],
  'highest point': ['Geography', 'Elevation extremes', 'highest point'],
  'lowest point': ['Geography', 'Elevation extremes', 'lowest point'],
  'chief of state': [GOVERNMENT, 'Executive branch', 'chief of state'],
  'head of government': [GOVERNMENT, 'Executive branch', 'head of government'],
  'major seaport': ['Transportation', 'Ports and terminals', 'major seaport(s)'],
};

const PEOPLE = 'People and Society';

/** Nouns and units of figures. */
const figures: Readonly<Record<string, readonly [unit: string, path: readonly string[]]>> = {
  population: ['', [PEOPLE, 'Population']],
  'total area': ['sq km', ['Geography', 'Area', 'total']],
  coastline: ['km', ['Geography', 'Coastline']],
  'total length of land boundaries': ['km', ['Geography', 'Land boundaries', 'total']],
  'median age': ['years', [PEOPLE, 'Median age', 'total']],
  'life expectancy at birth': ['years', [PEOPLE, 'Life expectancy at birth', 'total population']],
  'birth rate': ['births per 1,000 population', [PEOPLE, 'Birth rate']],
  'death rate': ['deaths per 1,000 population', [PEOPLE, 'Death rate']],
  'total fertility rate': ['children born per woman', [PEOPLE, 'Total fertility rate']],
  'urban population': ['percent of the total population', [PEOPLE, 'Urbanization', 'urban population']],
  'number of airports': ['', ['Transportation', 'Airports']],
  'GDP per capita': ['dollars', ['Economy', 'GDP - per capita (PPP)']],
  'total length of roadways': ['km', ['Transportation', 'Roadways', 'total']],
  'share of Internet users': ['percent of the population', ['Communications', 'Internet users', 'percent of population']],
};

/** Figures that do not change. */
const LASTING: ReadonlySet<string> = new Set(['total area', 'coastline', 'total length of land boundaries']);

/** Phrases that lead to another country, and the relation that each states. */
const leads: readonly (readonly [RegExp, string])[] = [
  [/^that has the longest land border with /, 'longest_border'],
  [/^that has the shortest land border with /, 'shortest_border'],
  [/^that has a land border with /, 'border'],
  [/^that takes the largest share of the exports of /, 'largest_exports'],
  [/^that supplies the largest share of the imports of /, 'largest_imports'],
  [/^that is an export partner of /, 'exports'],
  [/^that is an import partner of /, 'imports'],
  [/^that took the largest share of the (\d{4}) exports of /, 'largest_exports'],
  [/^that supplied the largest share of the (\d{4}) imports of /, 'largest_imports'],
  [/^that was a main export partner in (\d{4}) of /, 'exports'],
  [/^that was a main import partner in (\d{4}) of /, 'imports'],
  [/^that sent the largest share of its (\d{4}) exports to /, 'sends_most_to'],
  [/^that got the largest share of its (\d{4}) imports from /, 'gets_most_from'],
  [/^that became independent from /, 'left'],
];

/** Relations that change every year. */
export const DATED: ReadonlySet<string> = new Set([
  ...['largest_exports', 'largest_imports', 'exports', 'imports', 'sends_most_to', 'gets_most_from'],
]);

const asks: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^What is the capital of (.+)\?$/, [GOVERNMENT, 'Capital', 'name']],
  [/^What is the name of the national anthem of (.+)\?$/, [GOVERNMENT, 'National anthem', 'name']],
  [/^What is the highest point of (.+)\?$/, ['Geography', 'Elevation extremes', 'highest point']],
  [/^What is the lowest point of (.+)\?$/, ['Geography', 'Elevation extremes', 'lowest point']],
  [/^What is the currency of the exchange rates of (.+)\?$/, ['Economy', 'Exchange rates']],
  [/^What is the Internet country code of (.+)\?$/, ['Communications', 'Internet country code']],
  [/^What is the adjective for the nationality of (.+)\?$/, [PEOPLE, 'Nationality', 'adjective']],
  [/^What is the date of the independence of (.+)\?$/, [GOVERNMENT, 'Independence']],
  [/^On which date is the national holiday of (.+)\?$/, [GOVERNMENT, 'National holiday']],
  [/^What is the local long form of the name of (.+)\?$/, [GOVERNMENT, 'Country name', 'local long form']],
  [/^What is the local short form of the name of (.+)\?$/, [GOVERNMENT, 'Country name', 'local short form']],
  [/^What is the former name of (.+)\?$/, [GOVERNMENT, 'Country name', 'former']],
  [/^What is the government type of (.+)\?$/, [GOVERNMENT, 'Government type']],
  [/^What is the national symbol of (.+)\?$/, [GOVERNMENT, 'National symbol(s)']],
  [/^Who is the chief of state of (.+)\?$/, [GOVERNMENT, 'Executive branch', 'chief of state']],
  [/^Who is the head of government of (.+)\?$/, [GOVERNMENT, 'Executive branch', 'head of government']],
  [/^Who wrote the lyrics of the national anthem of (.+)\?$/, [GOVERNMENT, 'National anthem', 'lyrics/music']],
  [/^Who composed the music of the national anthem of (.+)\?$/, [GOVERNMENT, 'National anthem', 'lyrics/music']],
  [/^What is the major seaport of (.+)\?$/, ['Transportation', 'Ports and terminals', 'major seaport(s)']],
];

const START = 'the country ';
const begins = /^whose (.+?) has a name beginning with (\p{L})$/u;
const figure = /^whose (.+?)(?: in (\d{4}) was| is) (?:between (-?[\d,.]*\d) and )?(-?[\d,.]*\d)(?: (.+))?$/;
const number = (text: string): number => Number(text.replaceAll(',', ''));
const yearOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));

function readFigure(text: string): ParsedClause | undefined {
  const [, noun = '', year, low, high = '', saidUnit = ''] = figure.exec(text) ?? [];
  const [unit, path] = figures[noun] ?? [];
  if (path === undefined || unit !== saidUnit) return undefined;
  return { kind: 'within', path, low: number(low ?? high), high: number(high), year: yearOf(year), changes: !LASTING.has(noun) };
}

function readClause(text: string): ParsedClause | undefined {
  const [, noun, letter] = begins.exec(text) ?? [];
  const beginning = beginnings[noun ?? ''];
  if (beginning !== undefined && letter !== undefined) return { kind: 'begins', path: beginning, letter };
  const within = readFigure(text);
  if (within !== undefined) return within;
  const said = [...wordsIn, ...values].find(([phrase]) => text.startsWith(phrase));
  return said === undefined ? undefined : { kind: 'says', path: said[1], value: text.slice(said[0].length).replace(/^"(.*)"$/, '$1') };
}

/** The leading clauses, each of which leads to another country, and the rest of the text. */
function openAll(text: string): { readonly opened: readonly ParsedClause[]; readonly rest: string } {
  for (const [phrase, relation] of leads) {
    const [said, year] = phrase.exec(text) ?? [];
    if (said === undefined || !text.startsWith(START, said.length)) continue;
    const { opened, rest } = openAll(text.slice(said.length + START.length));
    return { opened: [{ kind: 'leads', relation, year: yearOf(year) }, ...opened], rest };
  }
  return { opened: [], rest: text };
}

/** Parses a question; undefined when it does not follow this grammar. */
export function readQuestion(question: string): ReadQuestion | undefined {
  const found = asks.map(([pattern, path]) => ({ who: pattern.exec(question)?.[1], path })).find(({ who }) => who !== undefined);
  if (found?.who?.startsWith(START) !== true) return undefined;
  const clauses: ParsedClause[] = [];
  for (const part of found.who.slice(START.length).split(/(?:, | and )(?=(?:whose|that) )/)) {
    const { opened, rest } = openAll(part);
    clauses.push(...opened);
    const clause = readClause(rest);
    if (clause === undefined) return undefined;
    clauses.push(clause);
  }
  return { asked: found.path, clauses };
}
