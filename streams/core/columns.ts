import type { Row, Rows } from './ports.ts';

/** Each row as an object. */
export const rowsOf = (rows: Rows): readonly Row[] => ('columns' in rows ? rows.rows() : rows);
