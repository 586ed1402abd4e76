/** Order of texts by their UTF-16 code units, whatever the locale. */
export const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
