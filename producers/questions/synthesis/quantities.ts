// Figures of a profile that a question can state exactly or within bounds. The figure of a field is the first number of its first estimate,
// with its scale word and without a currency sign. A figure that changes over time comes with the year of its estimate, which a question
// must state.
import { factbookProfiles, fieldOf } from '../../factbook/profiles.ts';
import type { Profile } from '../../factbook/profiles.ts';

export interface Quantity {
  readonly key: string;
  /** Label of the field that holds the figure. */
  readonly label: string;
  /** Its name in a question: `whose <noun> is 12 <unit>`, or `whose <noun> in 2015 was 12 <unit>`. */
  readonly noun: string;
  /** Empty for a plain number. */
  readonly unit: string;
  /** True when it stays constant for decades. */
  readonly lasting?: true;
}

/** Every quantity, in the order in which edits are generated. */
export const quantities: readonly Quantity[] = [
  { key: 'population', label: 'Population', noun: 'population', unit: '' },
  { key: 'area', label: 'Area, total', noun: 'total area', unit: 'sq km', lasting: true },
  { key: 'coastline', label: 'Coastline', noun: 'coastline', unit: 'km', lasting: true },
  { key: 'boundaries', label: 'Land boundaries, total', noun: 'total length of land boundaries', unit: 'km', lasting: true },
  { key: 'median_age', label: 'Median age, total', noun: 'median age', unit: 'years' },
  {
    key: 'life_expectancy',
    label: 'Life expectancy at birth, total population',
    noun: 'life expectancy at birth',
    unit: 'years',
  },
  { key: 'birth_rate', label: 'Birth rate', noun: 'birth rate', unit: 'births per 1,000 population' },
  { key: 'death_rate', label: 'Death rate', noun: 'death rate', unit: 'deaths per 1,000 population' },
  { key: 'fertility', label: 'Total fertility rate', noun: 'total fertility rate', unit: 'children born per woman' },
  { key: 'urban', label: 'Urbanization, urban population', noun: 'urban population', unit: 'percent of the total population' },
  { key: 'airports', label: 'Airports', noun: 'number of airports', unit: '' },
  { key: 'gdp_per_head', label: 'GDP - per capita (PPP)', noun: 'GDP per capita', unit: 'dollars' },
  { key: 'roadways', label: 'Roadways, total', noun: 'total length of roadways', unit: 'km' },
  { key: 'internet', label: 'Internet users, percent of population', noun: 'share of Internet users', unit: 'percent of the population' },
];

const SCALES: Readonly<Record<string, number>> = { million: 1e6, billion: 1e9, trillion: 1e12 };
const figure = /^\$?(-?\d[\d,]*(?:\.\d+)?)(?: (million|billion|trillion))?(?:%| |$)/;

/** What a field says about a quantity: a figure, nothing, or numbers without a clear figure. */
export type QuantityFigure =
  | { readonly kind: 'figure'; readonly value: number; readonly year: number | undefined }
  | { readonly kind: 'none' }
  | { readonly kind: 'unclear' };

const NONE: QuantityFigure = { kind: 'none' };
const UNCLEAR: QuantityFigure = { kind: 'unclear' };

const dated = /\((?:[^()]* )?((?:19|20)\d{2})(?: est\.)?\)/g;
const yearsIn = (text: string): readonly number[] => [...text.matchAll(dated)].map(([, year]) => Number(year));

/** The year of a field's first estimate. Parts of one table share the year that one of them names. */
export function yearOf(profile: Profile, label: string): number | undefined {
  const [own] = yearsIn((fieldOf(profile, label) ?? '').split(';')[0] ?? '');
  if (own !== undefined) return own;
  const table = `${label.split(', ')[0] ?? label}, `;
  const shared = new Set(profile.fields.filter((field) => field.label.startsWith(table)).flatMap(({ text }) => yearsIn(text)));
  return label.includes(', ') && shared.size === 1 ? [...shared][0] : undefined;
}

const figures = new Map<Quantity, ReadonlyMap<Profile, QuantityFigure>>();

/** The figures of every profile for a quantity; read once. */
export function figuresOf(quantity: Quantity): ReadonlyMap<Profile, QuantityFigure> {
  const known = figures.get(quantity) ?? new Map(factbookProfiles().map((profile) => [profile, readFigure(profile, quantity)]));
  figures.set(quantity, known);
  return known;
}

/** The figure of a profile. */
export const figureOf = (profile: Profile, quantity: Quantity): QuantityFigure => figuresOf(quantity).get(profile) ?? NONE;

function readFigure(profile: Profile, quantity: Quantity): QuantityFigure {
  const text = fieldOf(profile, quantity.label);
  if (text === undefined) return NONE;
  const first = (text.replace(/\s*\([^()]*\)/g, '').split(';')[0] ?? '').trim();
  const [, digits, scale] = figure.exec(first) ?? [];
  if (digits === undefined) return /\d/.test(text) ? UNCLEAR : NONE;
  const value = Number(digits.replaceAll(',', '')) * (SCALES[scale ?? ''] ?? 1);
  return { kind: 'figure', value, year: quantity.lasting === true ? undefined : yearOf(profile, quantity.label) };
}

const decimalsOf = (value: number): number => {
  const text = String(value);
  return text.includes('.') && !text.includes('e') ? Math.min(4, text.length - text.indexOf('.') - 1) : 0;
};

/** A number as written in a question, with thousands separators. */
export function sayNumber(value: number): string {
  const [whole = '', fraction] = value.toFixed(decimalsOf(value)).split('.');
  const separated = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? separated : `${separated}.${fraction}`;
}

/** Step sizes for bounds, as shares of the figure's power of ten, from narrow to wide; bounds are two steps apart. */
const STEPS = [1 / 200, 1 / 50, 1 / 20, 1 / 10, 1 / 5, 1 / 2, 1] as const;

/** Bounds around a figure that are further apart than `wider`; undefined when none make sense. `at` in [0, 1) positions them. */
export function boundsAround(value: number, wider: number, at: number): readonly [number, number] | undefined {
  if (value <= 0) return undefined;
  const magnitude = 10 ** Math.floor(Math.log10(value));
  const least = Number.isInteger(value) ? 1 : 0;
  const step = STEPS.map((share) => Math.max(least, share * magnitude)).find((one) => 2 * one > wider * 1.01);
  if (step === undefined) return undefined;
  const places = Math.max(0, 1 - Math.floor(Math.log10(step)));
  const round = (number: number): number => Number(number.toFixed(Math.min(4, places)));
  const low = Math.floor(value / step - at) * step;
  const bounds = [round(Math.max(0, low)), round(low + 2 * step)] as const;
  return bounds[0] <= value && value <= bounds[1] ? bounds : undefined;
}
