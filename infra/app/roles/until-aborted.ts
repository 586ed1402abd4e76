/** Resolves when the signal aborts, or rejects with the error that ends the role first. */
export async function untilAborted(signal: AbortSignal, finished?: Promise<unknown>): Promise<void> {
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
  await (finished === undefined ? aborted : Promise.race([aborted, finished]));
}
