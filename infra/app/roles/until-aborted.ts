/** Resolves when the signal aborts, or rejects with what ends the role before. */
export async function untilAborted(signal: AbortSignal, finished?: Promise<unknown>): Promise<void> {
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
  await (finished === undefined ? aborted : Promise.race([aborted, finished]));
}
