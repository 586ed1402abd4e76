// Long values and long lists, cut to what fits.
const SHOWN = 10;
const WIDTH = 76;

/** The beginning of a long text. */
export const short = (text: string): string => (text.length <= WIDTH ? text : `${text.slice(0, WIDTH - 1)}…`);

/** The first lines of many, and how many more there are. */
export const some = (lines: readonly string[], more: string): readonly string[] =>
  lines.length <= SHOWN ? lines : [...lines.slice(0, SHOWN), `  … and ${lines.length - SHOWN} ${more}`];
