import type { Logger } from '../../streams/core/ports.ts';

const nothing = (): void => undefined;

/** A logger that discards everything. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

export interface LoggedLine {
  readonly level: keyof Logger;
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

/** A logger that keeps its lines. */
export function createRecordingLogger(): Logger & { readonly lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const keep =
    (level: keyof Logger) =>
    (fields: Record<string, unknown>, message: string): void => {
      lines.push({ level, fields, message });
    };
  return { lines, debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
}
