// Shortcuts that work the same on every page.
import { shownAnswers } from '../data/answers.ts';
import { curlOf, shownLists } from '../data/shown.ts';
import { exactTimes } from '../kit/parts.tsx';
import type { KeyBinding } from './keys.ts';
import { tell } from './notice.tsx';
import { place } from './place.ts';

/** Copies a text to the clipboard, and shows a message about it. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell(`Copied ${what}.`);
  } catch {
    tell('The browser does not let this page copy.');
  }
}

function copyCurl(): void {
  const urls = [...new Set([...shownLists(), ...shownAnswers()])];
  if (urls.length === 0) tell('This page shows no data of the API.');
  else void copy(curlOf(location.origin, urls), urls.length === 1 ? 'a curl command' : `${urls.length} curl commands`);
}

export const commonKeys: readonly KeyBinding[] = [
  { keys: ['y'], does: 'Copy a link to what is shown', run: () => void copy(place.peek().href, 'a link to this') },
  { keys: ['c'], does: 'Copy what is shown as curl', run: copyCurl },
  { keys: ['.'], does: 'Ages or exact times', run: () => (exactTimes.value = !exactTimes.peek()) },
];
