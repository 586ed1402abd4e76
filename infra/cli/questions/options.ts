import { accessSync, constants } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';

/** Name of a question set. */
export function datasetSlug(raw: string): string {
  if (!/^[a-z0-9][a-z0-9_-]{0,62}$/.test(raw)) throw new InvalidArgumentError('It must be a slug: lower-case letters, digits, - and _.');
  return raw;
}

/** Throws USAGE_INVALID when a file cannot be read. */
export function assertReadable(doing: string, file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (cause) {
    throw new PlatformError('USAGE_INVALID', `${doing}: ${messageOf(cause)}`, { cause });
  }
}
