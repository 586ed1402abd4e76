// Caches answers as long as their inputs have not changed.

/** `stamp` identifies the inputs: when it changes, the answer is computed again. */
export type Memo<T> = (question: string, stamp: string, make: () => Promise<T>) => Promise<T>;

const MOST_ANSWERS = 64;

/** Keeps the most recently used answers. Concurrent callers share one computation. */
export function createMemo<T>(most = MOST_ANSWERS): Memo<T> {
  const known = new Map<string, { readonly stamp: string; readonly answer: Promise<T> }>();
  return (question, stamp, make) => {
    const found = known.get(question);
    known.delete(question);
    const entry = found !== undefined && found.stamp === stamp ? found : { stamp, answer: make() };
    known.set(question, entry);
    entry.answer.catch(() => {
      if (known.get(question) === entry) known.delete(question);
    });
    for (const oldest of known.keys()) {
      if (known.size <= most) break;
      known.delete(oldest);
    }
    return entry.answer;
  };
}
