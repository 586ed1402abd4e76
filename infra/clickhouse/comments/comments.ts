/** Comments by the name of the column. */
export type Comments = Readonly<Record<string, string>>;
