import { describe, expect, it } from 'vitest';
import { createFactbookTools } from './tools.ts';
import { pageAt } from './pages.ts';
import { bordersOf, factbookProfiles, fieldOf, profileNamed } from './profiles.ts';

const [search, access] = createFactbookTools();
const signal = new AbortController().signal;

describe('profiles', () => {
  it('have distinct titles and URLs', () => {
    const profiles = factbookProfiles();
    expect(profiles.length).toBeGreaterThan(255);
    expect(new Set(profiles.map(({ url }) => url)).size).toBe(profiles.length);
    expect(new Set(profiles.map(({ title }) => title)).size).toBe(profiles.length);
    for (const { url, fields } of profiles) {
      expect(url).toMatch(/^factbook:\/\/[a-z-]+\/[a-z0-9-]+$/);
      expect(fields.length).toBeGreaterThan(5);
    }
  });
  it('are found by any of their names', () => {
    for (const name of ['UAE', 'United Arab Emirates', 'the United Arab Emirates', 'united arab emirates']) {
      expect(profileNamed(name)?.code).toBe('ae');
    }
    expect(profileNamed('Democratic Republic of the Congo')?.title).toBe('Congo DR');
    expect(profileNamed('Nowhere')).toBeUndefined();
  });
  it('mostly list a border on both sides', () => {
    const austria = profileNamed('Austria')!;
    expect(bordersOf(austria).map(({ to, km }) => [to?.title, km])).toContainEqual(['Germany', 801]);
    expect(fieldOf(austria, 'Capital, name')).toBe('Vienna');
    expect(fieldOf(austria, 'No such label')).toBeUndefined();
    const kazakhstan = profileNamed('Kazakhstan')!;
    expect(bordersOf(kazakhstan).find(({ to }) => to?.title === 'Russia')?.km).toBe(7644);
    let mutual = 0;
    let all = 0;
    for (const profile of factbookProfiles()) {
      for (const { to } of bordersOf(profile)) {
        if (to === undefined) continue;
        all += 1;
        if (bordersOf(to).some((back) => back.to === profile)) mutual += 1;
      }
    }
    expect(all).toBeGreaterThan(600);
    expect(mutual / all).toBeGreaterThan(0.9);
    expect(bordersOf(profileNamed('Mexico')!).find(({ name }) => name === 'US')?.to?.title).toBe('United States');
    expect(bordersOf(profileNamed('Brazil')!).find(({ name }) => name === 'French Guiana')).toMatchObject({ to: undefined });
  });
});

describe('access', () => {
  it('gives the page as Markdown with links to existing pages', async () => {
    const page = await access!.call('factbook://europe/austria', signal);
    expect(page).toMatchObject({ status: 'ok', errorType: '', items: [{ url: 'factbook://europe/austria', title: 'Austria' }] });
    expect(page.text).toContain('# Austria\n');
    expect(page.text).toContain('- **Capital, name:** Vienna\n');
    expect(page.text).toContain('[Czech Republic](factbook://europe/czech-republic) 402 km');
    let links = 0;
    for (const { url } of factbookProfiles()) {
      for (const [, to] of pageAt(url)!.markdown.matchAll(/\]\((factbook:[^)]+)\)/g)) {
        links += 1;
        expect(pageAt(to!), `${url} links to ${to!}`).toBeDefined();
      }
    }
    expect(links).toBeGreaterThan(700);
  });
  it('returns an error for a page that does not exist', async () => {
    expect(await access!.call('factbook://europe/atlantis', signal)).toMatchObject({ status: 'error', errorType: 'not_found', items: [] });
    expect(await access!.call('https://example.org', signal)).toMatchObject({ status: 'error', errorType: 'not_found' });
  });
});

describe('search', () => {
  it('finds the profile that a phrase identifies', async () => {
    const result = await search!.call('capital Vienna', signal);
    expect(result.items).toHaveLength(10);
    expect(result.items[0]).toEqual({ url: 'factbook://europe/austria', title: 'Austria' });
    expect(result.text).toMatch(/^\[Doc 1\]\(factbook:\/\/europe\/austria\): Austria\n.*Vienna/i);
    expect(result.text.split('\n\n')).toHaveLength(10);
  });
  it('is the same every time, the second time out of the cache', async () => {
    const first = await search!.call('highest point Grossglockner', signal);
    const second = await search!.call('highest point Grossglockner', signal);
    expect(first.cacheHit).toBe(false);
    expect(second).toEqual({ ...first, cacheHit: true });
    expect(await search!.call('highest point Grossglockner', signal)).toBe(second);
    const [other] = createFactbookTools();
    expect(await other!.call('highest point Grossglockner', signal)).toEqual(first);
  });
  it('finds nothing for a query without a known word', async () => {
    for (const query of ['', 'of the', '!?', 'zzzzqqqq']) {
      expect(await search!.call(query, signal)).toMatchObject({ status: 'ok', items: [], text: 'No search results are found.' });
    }
  });
  it('does not begin when the attempt is over', async () => {
    expect(await search!.call('Vienna', AbortSignal.abort())).toMatchObject({ status: 'timeout', errorType: 'aborted' });
  });
});
