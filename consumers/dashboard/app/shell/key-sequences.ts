// Keys and short sequences of keys (`g t`), without the DOM: what a key does depends on the keys just before it.

export interface KeyPress {
  readonly key: string;
  /** Control or Command. */
  readonly command: boolean;
  readonly shift?: boolean;
}

/** How long a sequence waits for its next key, ms. */
export const SEQUENCE_MS = 900;

interface PendingKeys {
  readonly keys: readonly string[];
  readonly at: number;
}

/** The name of a key in bindings: `j`, `G`, `Enter`, `Shift Enter`, `Ctrl k`. */
export const keyName = ({ key, command, shift = false }: KeyPress): string => {
  if (command) return `Ctrl ${key.toLowerCase()}`;
  // for letters, shift is already in the character
  return shift && key === 'Enter' ? 'Shift Enter' : key;
};

export interface KeyStep {
  /** The binding that the keys complete. */
  readonly binding: string | undefined;
  readonly waiting: PendingKeys | undefined;
}

/** The result of one more key: a binding, an unfinished sequence, or nothing. */
export function pressKey(
  bindings: readonly string[],
  waiting: PendingKeys | undefined,
  press: { readonly name: string; readonly at: number },
): KeyStep {
  const before = waiting !== undefined && press.at - waiting.at <= SEQUENCE_MS ? waiting.keys : [];
  for (const keys of [[...before, press.name], [press.name]]) {
    const typed = keys.join(' ');
    if (bindings.includes(typed)) return { binding: typed, waiting: undefined };
    if (bindings.some((binding) => binding.startsWith(`${typed} `))) return { binding: undefined, waiting: { keys, at: press.at } };
  }
  return { binding: undefined, waiting: undefined };
}
