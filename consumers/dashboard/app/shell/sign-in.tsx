import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { locked, refresh } from '../data/answers.ts';
import { ask, type ApiProblem } from '../data/request.ts';
import { Failed } from '../kit/states.tsx';

/** Asks for an API key once; the browser then keeps a cookie that scripts cannot read. */
export function SignIn(): JSX.Element {
  const [problem, setProblem] = useState<ApiProblem>();
  const signIn = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const key = new FormData(event.currentTarget as HTMLFormElement).get('key');
    const answer = await ask('/v1/session', { method: 'POST', body: { key } });
    if (!answer.ok) {
      setProblem(answer.problem);
      return;
    }
    locked.value = false;
    refresh();
  };
  return (
    <form class="sign-in" onSubmit={(event) => void signIn(event)}>
      <h1>Sign in</h1>
      <p>This server requires an API key with the scope read. It is sent once; this browser stays signed in for 12 hours.</p>
      {problem !== undefined && <Failed problem={problem} />}
      <label>
        API key
        <input name="key" type="password" autocomplete="current-password" required maxLength={1_000} />
      </label>
      <button type="submit">Sign in</button>
    </form>
  );
}
