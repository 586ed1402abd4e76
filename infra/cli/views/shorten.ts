// Truncates long values and long lists.
const SHOWN = 10;
const WIDTH = 76;

/** Truncates a long text. */
export const short = (text: string): string => (text.length <= WIDTH ? text : `${text.slice(0, WIDTH - 1)}…`);

/** The first lines, and the number of lines left out. */
export const some = (lines: readonly string[], more: string): readonly string[] =>
  lines.length <= SHOWN ? lines : [...lines.slice(0, SHOWN), `  … and ${lines.length - SHOWN} ${more}`];
