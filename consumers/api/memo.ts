// What was made last for a question, for as long as what it was made of has not changed.

/** `stamp` says what it is made of: an answer with another stamp is made again. */
export type Memo<T> = (question: string, stamp: string, make: () => Promise<T>) => Promise<T>;

const MOST_ANSWERS = 64;

/** Keeps the answers to the questions that were asked last. Who asks while one is being made waits for it. */
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
