// Renders profiles as Markdown pages. Each line is one field, so that a reader can quote it and a program can parse it.
import { factbookProfiles, linkBorders, profileNamed } from './profiles.ts';
import type { ProfileField, Profile } from './profiles.ts';

export interface FactbookPage {
  readonly profile: Profile;
  readonly markdown: string;
}

const between = /\b(?:between|borders|bordering|surrounded by) ([^;]+)/g;
const properName = /\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*/gu;

/** Turns names of other profiles in a location into links. */
function linkLocation(profile: Profile, text: string): string {
  return text.replace(between, (phrase) =>
    phrase.replace(properName, (name) => {
      const to = profileNamed(name);
      return to === undefined || to === profile ? name : `[${name}](${to.url})`;
    }),
  );
}

function render(profile: Profile, field: ProfileField): string {
  const border = field.label === 'Land boundaries, border countries';
  const text = border ? linkBorders(profile, field.text) : field.label === 'Location' ? linkLocation(profile, field.text) : field.text;
  return `- **${field.label}:** ${text}`;
}

function toMarkdown(profile: Profile): string {
  const lines = [`# ${profile.title}`];
  let section = '';
  for (const field of profile.fields) {
    if (field.section !== section) lines.push('', `## ${field.section}`, '');
    section = field.section;
    lines.push(render(profile, field));
  }
  return lines.join('\n') + '\n';
}

const pages = new Map<Profile, FactbookPage>();

/** The page of a profile; created on first use, then always the same object. */
function pageOf(profile: Profile): FactbookPage {
  const known = pages.get(profile);
  if (known !== undefined) return known;
  const page = { profile, markdown: toMarkdown(profile) };
  pages.set(profile, page);
  return page;
}

let byUrl: ReadonlyMap<string, Profile> | undefined;

/** The page at a URL of factbookProfiles, or undefined. */
export function pageAt(url: string): FactbookPage | undefined {
  byUrl ??= new Map(factbookProfiles().map((profile) => [profile.url, profile]));
  const profile = byUrl.get(url);
  return profile === undefined ? undefined : pageOf(profile);
}
