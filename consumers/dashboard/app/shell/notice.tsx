// A short message about what an action of the user did.
import type { JSX } from 'preact';
import { signal } from '@preact/signals';
import { visible } from '../kit/visible.ts';

const SHOWN_MS = 4_000;
const said = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

export function tell(text: string): void {
  said.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => (said.value = ''), SHOWN_MS);
}

export const Notice = (): JSX.Element => (
  <p class="notice" role="status" hidden={said.value === ''}>
    {visible(said.value)}
  </p>
);
