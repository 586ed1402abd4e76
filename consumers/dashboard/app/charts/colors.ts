// Theme colors for canvases, read once per theme, because reading computed styles for each stroke would dominate drawing.
import { signal } from '@preact/signals';

const known = new Map<string, string>();

/** Changes with the theme. */
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
