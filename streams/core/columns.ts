import type { Row, Rows } from './ports.ts';

/** Rows as objects. */
export const rowsOf = (rows: Rows): readonly Row[] => ('columns' in rows ? rows.rows() : rows);
