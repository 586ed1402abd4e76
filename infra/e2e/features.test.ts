// The table of features names one or more journeys for every yes, and each is a test of that name.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const page = readFileSync('infra/docs/reference/dashboards.md', 'utf8');
const rows = [...page.matchAll(/^\| (.+?) +\| (yes|later) +\| (.+?) +\|$/gm)].map(([, feature = '', has = '', shown = '']) => ({
  ...{ feature, has },
  links: shown.split('), ').map((link) => /^\[(.+)\]\(\.\.\/\.\.\/e2e\/([^)]+)\)?$/.exec(link)),
}));
const own = rows.slice(
  0,
  rows.findIndex(({ feature }, at) => at > 0 && feature === rows[0]?.feature),
);

describe('the features of the dashboard', () => {
  it('are more than 30, each listed once', () => {
    expect(own.length).toBeGreaterThan(30);
    expect(new Set(own.map(({ feature }) => feature)).size).toBe(own.length);
  });

  it.each(own.filter(({ has }) => has === 'yes'))('$feature is shown by a journey', ({ links }) => {
    for (const link of links) {
      const [, title = '', file = ''] = link ?? [];
      expect(readFileSync(`infra/e2e/${file}`, 'utf8')).toContain(`it('${title}'`);
    }
  });
});
