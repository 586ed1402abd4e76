// Colors of the page for what is drawn on a canvas, read once a theme: asking the style for each stroke is most of a redraw.
import { signal } from '@preact/signals';

const known = new Map<string, string>();

/** Changes when the colors of the page do. */
export const theme = signal(0);
if (typeof matchMedia === 'function') {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    known.clear();
    theme.value += 1;
  });
}

export function colorOf(name: string): string {
  const color = known.get(name) ?? getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  known.set(name, color);
  return color;
}
