// Loads the code of a page when it is first opened, in parallel with the data that the page requests first.
import type { ComponentType } from 'preact';
import { signal } from '@preact/signals';
import { firstRequests } from '../data/addresses.ts';
import { prefetch } from '../data/answers.ts';
import type { PagePath } from './page-files.ts';
import { matchPath, type PatternParts } from './patterns.ts';
import { place } from './place.ts';

type RoutedPage = ComponentType<{ readonly parts: PatternParts }>;

const pages: Readonly<Record<PagePath, () => Promise<RoutedPage>>> = {
  '/': async () => (await import('../pages/runs.tsx')).Runs,
  '/runs/:run': async () => (await import('../pages/overview.tsx')).Overview,
  '/runs/:run/curves': async () => (await import('../pages/curves.tsx')).AllCurves,
  '/runs/:run/steps': async () => (await import('../pages/steps.tsx')).Steps,
  '/runs/:run/steps/:step': async () => (await import('../pages/step.tsx')).StepPage,
  '/runs/:run/trajectories': async () => (await import('../pages/trajectories.tsx')).Trajectories,
  '/runs/:run/t/:trajectory': async () => (await import('../pages/trajectory.tsx')).TrajectoryPage,
  '/runs/:run/flow': async () => (await import('../pages/flow.tsx')).FlowPage,
  '/runs/:run/advisories': async () => (await import('../pages/advisories.tsx')).Advisories,
  '/runs/:run/dropped': async () => (await import('../pages/dropped.tsx')).Dropped,
  '/runs/:run/questions': async () => (await import('../pages/questions.tsx')).Questions,
  '/runs/:run/questions/:question': async () => (await import('../pages/questions.tsx')).QuestionPage,
  '/runs/:run/groups/:group': async () => (await import('../pages/group.tsx')).GroupPage,
  '/runs/:run/diff': async () => (await import('../pages/diff.tsx')).DiffPage,
  '/runs/:run/tools/:tool': async () => (await import('../pages/tool.tsx')).ToolPage,
  '/runs/:run/tools': async () => (await import('../pages/tools.tsx')).Tools,
  '/runs/:run/workers': async () => (await import('../pages/workers.tsx')).Workers,
  '/runs/:run/ledger': async () => (await import('../pages/ledger.tsx')).LedgerPage,
  '/compare': async () => (await import('../pages/compare.tsx')).Compare,
  '/evaluations': async () => (await import('../pages/evaluations.tsx')).Evaluations,
  '/evaluations/:evaluation': async () => (await import('../pages/evaluations.tsx')).EvaluationPage,
  '/live': async () => (await import('../pages/live.tsx')).Live,
  '/search': async () => (await import('../pages/search.tsx')).Search,
  '/dead-letters': async () => (await import('../pages/dead-letters.tsx')).DeadLetters,
  '/sql': async () => (await import('../pages/sql.tsx')).Sql,
};
const paths = Object.keys(pages) as readonly PagePath[];

export const loaded = signal<ReadonlyMap<string, RoutedPage>>(new Map());
export const failed = signal('');

const loading = new Set<PagePath>();

async function loadPage(path: PagePath): Promise<void> {
  if (loading.has(path)) return;
  loading.add(path);
  try {
    const view = await pages[path]();
    loaded.value = new Map([...loaded.peek(), [path, view]]);
    failed.value = '';
  } catch {
    loading.delete(path);
    failed.value = path;
  }
}

interface PlacedPage {
  readonly path: PagePath;
  readonly parts: PatternParts;
}

export function pageAt(pathname: string): PlacedPage | undefined {
  for (const path of paths) {
    const parts = matchPath(path, pathname);
    if (parts !== undefined) return { path, parts };
  }
  return undefined;
}

/** Requests the code and the data of the current page at the same time. */
export function openPage(): void {
  prefetch(firstRequests(place.peek()));
  const found = pageAt(place.peek().pathname);
  if (found !== undefined) void loadPage(found.path);
}
