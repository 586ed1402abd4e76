// Decides whether a statement may run, before any part of it does.
import { ClickHouseFailure } from '../clickhouse-error.ts';
import type { ClickHouseEngine } from './engine.ts';
import type { Offenders } from './offenders.ts';
import { createRule } from './rule.ts';

interface JudgedStatement {
  readonly sql: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly settings: ReadonlyMap<string, string>;
}

/** Throws ACCESS_DENIED for a statement that accesses anything outside the store, QUERY_WAS_CANCELLED for one that crashed it before. */
export type StatementJudge = (statement: JudgedStatement) => Promise<void>;

/** Maximum number of cached statements that were found harmless. */
const KNOWN = 2_000;
const KNOWN_CHARS = 20_000;

const denied = (part: string): ClickHouseFailure =>
  new ClickHouseFailure(
    497,
    'ACCESS_DENIED',
    `${part} is refused by the embedded store: no statement reads or writes a file, a socket or a process`,
  );

export function createJudge(engine: Pick<ClickHouseEngine, 'names' | 'formatted'>, offenders: Offenders): StatementJudge {
  const rule = createRule(engine.names);
  const known = new Set<string>();
  const remember = (sql: string): void => {
    if (sql.length > KNOWN_CHARS) return;
    if (known.size >= KNOWN) known.clear();
    known.add(sql);
  };
  return async ({ sql, parameters, settings }) => {
    offenders.refuse(sql);
    for (const name of settings.keys()) if (rule.refusesSetting(name)) throw denied(`the setting ${name}`);
    // The value of an Identifier parameter appears in the statement as a name.
    if (parameters.size > 0 && /identifier/i.test(sql))
      for (const value of parameters.values()) if (rule.mustLook(value)) throw denied(`the name ${JSON.stringify(value.slice(0, 60))}`);
    if (known.has(sql) || !rule.mustLook(sql)) return;
    const part = rule.refused(await engine.formatted(sql));
    if (part !== undefined) throw denied(part);
    remember(sql);
  };
}
