// Finds which rows ClickHouse refuses, without storing any row. It bisects the batch: it inserts halves into a copy of the table with engine
// Null, which parses and validates rows but stores nothing.
import { isPlatformError, messageOf, type PlatformError } from '../../streams/core/errors.ts';
import type { Row, Store } from '../../streams/core/ports.ts';
import { patiently, type Patience } from './patience.ts';
import type { TableName } from './rows/tables.ts';

/** ClickHouse's error codes for invalid values: parsing, conversion, range, constraint. No other code is the fault of a row. */
const faultCodes: ReadonlySet<unknown> = new Set([6, 25, 26, 27, 38, 41, 53, 69, 70, 72, 117, 130, 131, 190, 321, 349, 376, 407, 467, 469]);

/** True if a row caused the error, not the schema, the permissions, or the server. */
export function isFaultOfRows(error: PlatformError): boolean {
  const code = Number(error.context['clickhouseCode']);
  return faultCodes.has(code) && !/unknown field/i.test(error.message);
}

/** The refused rows with reasons; empty when each row would be accepted by itself. */
export async function refusedRows(
  work: { readonly table: TableName; readonly rows: readonly Row[]; readonly token: string },
  deps: { readonly store: Store; readonly patience: Patience },
): Promise<ReadonlyMap<Row, string>> {
  const check = `check_${work.token.replaceAll(/[^a-z0-9_]/g, '_')}`;
  const command = (sql: string): Promise<void> => patiently(deps.patience, () => deps.store.command(sql));
  const refused = new Map<Row, string>();
  await command(`create table if not exists ${check} as ${work.table} engine = Null`);
  async function search(rows: readonly Row[]): Promise<void> {
    const error = await refusal(rows);
    if (error === undefined) return;
    const [row] = rows;
    if (rows.length === 1 && row !== undefined) {
      refused.set(row, messageOf(error));
      return;
    }
    const middle = rows.length >> 1;
    await search(rows.slice(0, middle));
    await search(rows.slice(middle));
  }
  async function refusal(rows: readonly Row[]): Promise<PlatformError | undefined> {
    try {
      await patiently(deps.patience, () => deps.store.insert(check, rows, work.token));
      return undefined;
    } catch (error) {
      if (isPlatformError(error, 'STORE_REFUSED') && isFaultOfRows(error)) return error;
      throw error;
    }
  }
  try {
    await search(work.rows);
  } finally {
    await command(`drop table if exists ${check}`);
  }
  return refused;
}
