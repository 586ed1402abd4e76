/** Milliseconds to the last byte of a response; rejects when its status is an error. */
export async function timedAnswer(ask: () => Promise<Response>): Promise<number> {
  const began = performance.now();
  const answer = await ask();
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.url} answered ${answer.status}: ${text.slice(0, 500)}`);
  return performance.now() - began;
}
