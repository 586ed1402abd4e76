// The address holds all state that matters, so that a link or a reload opens the same view.
import { signal } from '@preact/signals';
import { createAddressWriter } from './address-writer.ts';
import { parentOf } from './patterns.ts';

const now = (): URL => new URL(location.href);

/** The current address. The address bar may show it a moment later. */
export const place = signal<URL>(now());

interface LeftPage {
  readonly href: string;
  readonly top: number;
}

/** The last address of each page, by path. */
const left = new Map<string, LeftPage>();
const writer = createAddressWriter((href) => history.replaceState(null, '', href));
addEventListener('popstate', () => {
  writer.drop();
  place.value = now();
});
for (const leaving of ['beforeunload', 'pagehide']) addEventListener(leaving, writer.flush);

/** Opens another page. Plain links use this as well. */
export function go(to: string): void {
  writer.flush();
  left.set(location.pathname, { href: location.href, top: scrollY });
  history.pushState(null, '', to);
  place.value = now();
  scrollTo(0, 0);
}

/** Goes one level up, to the last address of that page. */
export function goToParent(): void {
  const parent = parentOf(place.peek());
  if (parent === undefined) return;
  const before = left.get(parent.split('?')[0] ?? '');
  go(before?.href ?? parent);
  if (before !== undefined) requestAnimationFrame(() => scrollTo(0, before.top));
}

/** Changes parameters of this address; an empty or missing value removes one. `push` adds an entry to the browser history. */
export function change(values: Readonly<Record<string, string | number | undefined>>, push = false): void {
  const url = new URL(place.peek());
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === '') url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  }
  if (url.href === place.peek().href) return;
  if (push) {
    writer.flush();
    history.pushState(null, '', url);
  } else writer.put(url.href);
  place.value = url;
}

export const parameter = (name: string): string | undefined => place.value.searchParams.get(name) ?? undefined;

export function numberParameter(name: string): number | undefined {
  const text = parameter(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** False for addresses of the API, and for links within the open page. The browser follows both, and moves the focus for the latter. */
function leadsToPage({ pathname, search, hash }: HTMLAnchorElement): boolean {
  if (/^\/(v1|openapi|metrics|healthz|registry)/.test(pathname)) return false;
  return hash === '' || pathname !== location.pathname || search !== place.peek().search;
}

/** Handles clicks on links within the site without a page load. New tabs and downloads are left to the browser. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest('a');
  if (link === null || link === undefined || link.target !== '' || link.origin !== location.origin || link.hasAttribute('download')) return;
  if (!leadsToPage(link)) return;
  event.preventDefault();
  go(link.href);
}
