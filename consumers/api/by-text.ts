/** Compares strings by their UTF-16 code units, regardless of the locale. */
export const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
