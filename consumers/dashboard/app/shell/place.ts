// Where the reader is: every state that matters is in the address, so that a link or a reload opens the same.
import { signal } from '@preact/signals';
import { parentOf } from './patterns.ts';

const now = (): URL => new URL(location.href);

/** The address as it is now. */
export const place = signal<URL>(now());

interface LeftPage {
  readonly href: string;
  readonly top: number;
}

/** Pages as they were left, by path. */
const left = new Map<string, LeftPage>();
addEventListener('popstate', () => {
  place.value = now();
});

/** Opens another page; plain anchors come here as well. */
export function go(to: string): void {
  left.set(location.pathname, { href: location.href, top: scrollY });
  history.pushState(null, '', to);
  place.value = now();
  scrollTo(0, 0);
}

/** Goes one level up, to that page as it was left. */
export function goToParent(): void {
  const parent = parentOf(now());
  if (parent === undefined) return;
  const before = left.get(parent.split('?')[0] ?? '');
  go(before?.href ?? parent);
  if (before !== undefined) requestAnimationFrame(() => scrollTo(0, before.top));
}

/** Changes parameters of this address; an empty or missing value takes one away. `push` makes it a step to go back to. */
export function change(values: Readonly<Record<string, string | number | undefined>>, push = false): void {
  const url = now();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === '') url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  }
  if (url.href === location.href) return;
  if (push) history.pushState(null, '', url);
  else history.replaceState(null, '', url);
  place.value = url;
}

export const parameter = (name: string): string | undefined => place.value.searchParams.get(name) ?? undefined;

export function numberParameter(name: string): number | undefined {
  const text = parameter(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Clicks on links of this site change the page without loading it; new tabs and downloads stay the browser's. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest('a');
  if (link === null || link === undefined || link.target !== '' || link.origin !== location.origin || link.hasAttribute('download')) return;
  if (/^\/(v1|openapi|metrics|healthz|registry)/.test(link.pathname)) return;
  event.preventDefault();
  go(link.href);
}
