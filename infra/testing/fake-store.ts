// A store for unit tests of readers and routes: it returns what the test wants and records its queries.
import type { QueryOptions, Store } from '../../streams/core/ports.ts';

export interface RecordedStatement {
  readonly sql: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly settings: Readonly<Record<string, string | number>>;
}

/** `answer` returns the rows for a statement, or throws. Default: no rows. */
export function createFakeStore(
  answer: (asked: RecordedStatement) => readonly object[] = () => [],
): Store & { readonly asked: RecordedStatement[] } {
  const asked: RecordedStatement[] = [];
  const note = (sql: string, options: QueryOptions = {}): RecordedStatement => {
    const question = { sql, params: options.params ?? {}, settings: options.settings ?? {} };
    asked.push(question);
    return question;
  };
  return {
    asked,
    database: 'turnstream',
    ping: async () => true,
    query: async <T extends object>(sql: string, options?: QueryOptions) => answer(note(sql, options)) as readonly T[],
    stream: async (sql, options) => {
      const rows = answer(note(sql, options));
      return (async function* () {
        for (const row of rows) yield Buffer.from(`${JSON.stringify(row)}\n`);
      })();
    },
    command: async () => undefined,
    insert: async () => undefined,
    close: async () => undefined,
  };
}
