// Ends the session of this browser, for example to sign in with another key.
import type { JSX } from 'preact';
import { locked } from '../data/answers.ts';
import { ask, signedIn } from '../data/request.ts';
import { tell } from './notice.tsx';

/** Everything that was loaded is discarded with the page. */
async function signOut(): Promise<void> {
  const answer = await ask('/v1/session', { method: 'DELETE' });
  if (answer.ok) location.reload();
  else tell(`Signing out failed: ${answer.problem.detail}`);
}

export function SignOut(): JSX.Element | null {
  if (!signedIn.value || locked.value) return null;
  return (
    <button type="button" onClick={() => void signOut()}>
      Sign out
    </button>
  );
}
