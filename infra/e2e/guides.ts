// Parses the guide of the twelve questions, so that the tests run exactly what it shows.
import { readFileSync } from 'node:fs';
import { blocksOf } from './blocks.ts';

export interface GuideQuestion {
  readonly title: string;
  readonly sql: string;
  /** Paths with the variables $RUN, $STEP, $TRAJECTORY, $QUESTION and $OTHER. */
  readonly routes: readonly string[];
}

const block = (section: string, language: string): string => blocksOf(section, language)[0]?.trim() ?? '';

/** The questions in order. */
export const guideQuestions: readonly GuideQuestion[] = readFileSync('infra/docs/guides/twelve-questions.md', 'utf8')
  .split(/^## \d+\. /m)
  .slice(1)
  .map((section) => ({
    title: section.slice(0, section.indexOf('\n')),
    sql: block(section, 'sql'),
    routes: [...block(section, 'sh').matchAll(/^curl -s "http:\/\/127\.0\.0\.1:8787([^"]+)"$/gm)].map(([, path]) => path ?? ''),
  }));

export interface GuideValues {
  readonly run: string;
  readonly other: string;
  readonly step: number;
  readonly trajectory: string;
  readonly question: string;
}

/** The parameters of a statement. */
export const paramsOf = (sql: string, values: GuideValues): Record<string, string | number> => {
  const all: Record<string, string | number> = { ...values, from_step: 0, to_step: 2_147_483_647 };
  return Object.fromEntries([...sql.matchAll(/\{(\w+):/g)].map(([, name = '']) => [name, all[name] ?? '']));
};

/** A path with its variables filled in. */
export const routeOf = (path: string, values: GuideValues): string =>
  path.replace(/\$([A-Z]+)/g, (_, name: string) => encodeURIComponent(String(values[name.toLowerCase() as keyof GuideValues])));
