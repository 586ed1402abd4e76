/** Comments by column name. */
export type Comments = Readonly<Record<string, string>>;
