// Pending requests by the ids that their clients gave them. KILL QUERY also ends those that are still sending rows or waiting for a slot,
// which the engine does not know of.
import { ClickHouseFailure } from '../clickhouse-error.ts';
import { deferred } from '../../../streams/core/waiting.ts';

interface RequestUnderWay {
  /** True while the engine works on it. */
  running: boolean;
  readonly id: string;
  /** Prevents it from starting. */
  readonly abort: (reason: Error) => void;
  readonly left: Promise<void>;
}

/** One request, from the moment its id is known. */
export interface Entered {
  runs(): void;
  leave(): void;
}

export interface UnderWay {
  enter(id: string, abort: (reason: Error) => void): Entered;
  ids(): readonly string[];
  /** Resolves when none of them is running or will start. */
  end(ids: readonly string[]): Promise<void>;
}

export function createUnderWay(): UnderWay {
  const requests = new Set<RequestUnderWay>();
  return {
    enter(id, abort) {
      const left = deferred();
      const request: RequestUnderWay = { id, abort, running: false, left: left.promise };
      requests.add(request);
      return {
        runs: () => {
          request.running = true;
        },
        leave: () => {
          requests.delete(request);
          left.resolve();
        },
      };
    },
    ids: () => [...requests].map(({ id }) => id),
    async end(ids) {
      const named = [...requests].filter(({ id }) => ids.includes(id));
      for (const { abort } of named) abort(new ClickHouseFailure(394, 'QUERY_WAS_CANCELLED', 'Query was cancelled by KILL QUERY'));
      await Promise.all(named.filter(({ running }) => running).map(({ left }) => left));
    },
  };
}

/** The condition of a KILL QUERY; undefined when there is none. */
export const conditionOf = (sql: string): string | undefined =>
  /\bwhere\b(.*?)(?:\b(?:sync|async|test)\b)?\s*(?:\bformat\s+\w+)?\s*;?\s*$/is.exec(sql)?.[1];
