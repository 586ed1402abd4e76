// Parts of tables that cannot be read. A merge that runs while the disk is full may succeed with empty files. The next start replaces such a
// part with the parts that were merged, which the engine keeps for some minutes. So the store restarts when a statement fails because of a
// part, once for each part. Kept in a file, because the process that read the part is gone.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClickHouseFailure } from '../clickhouse-error.ts';

export interface BrokenParts {
  /**
   * The part that a failure is about, as a path below the engine's directory. Undefined when the failure has another cause, or the store has
   * restarted because of the part before.
   */
  foundIn(failure: ClickHouseFailure): string | undefined;
}

const UNREADABLE: ReadonlySet<string> = new Set([
  ...['CANNOT_READ_ALL_DATA', 'ATTEMPT_TO_READ_AFTER_EOF', 'UNKNOWN_CODEC', 'CANNOT_DECOMPRESS', 'CORRUPTED_DATA'],
  ...['CHECKSUM_DOESNT_MATCH', 'NO_FILE_IN_DATA_PART', 'FILE_DOESNT_EXIST', 'SIZES_OF_MARKS_FILES_ARE_INCONSISTENT'],
]);

const PART = /\/(store\/[0-9a-f]{3}\/[0-9a-f-]{36}\/\w+)/;
const MAX_PARTS = 1_000;

/** `data` is the engine's directory. */
export function openBrokenParts(data: string, file: string): BrokenParts {
  let parts = read(file);
  return {
    foundIn({ codeName, message }) {
      const part = UNREADABLE.has(codeName) ? PART.exec(message)?.[1] : undefined;
      if (part === undefined || parts.includes(part) || !existsSync(join(data, part))) return undefined;
      parts = [...parts, part].slice(-MAX_PARTS);
      try {
        writeFileSync(file, JSON.stringify(parts));
      } catch {
        return undefined; // without the note, the store might restart forever
      }
      return part;
    },
  };
}

function read(file: string): readonly string[] {
  try {
    const found = JSON.parse(readFileSync(file, 'utf8')) as unknown;
    return Array.isArray(found) ? found.filter((part) => typeof part === 'string') : [];
  } catch {
    return [];
  }
}
