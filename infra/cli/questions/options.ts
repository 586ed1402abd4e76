import { accessSync, constants } from 'node:fs';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';

/** Throws USAGE_INVALID when a file cannot be read. */
export function assertReadable(doing: string, file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (cause) {
    throw new PlatformError('USAGE_INVALID', `${doing}: ${messageOf(cause)}`, { cause });
  }
}
