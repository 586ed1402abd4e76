// Why a server could not listen, as an error of the platform.
import { PlatformError } from '../../streams/core/errors.ts';

/** PORT_IN_USE when another program has the port of `where` (host:port and purpose); `setting` chooses another one. */
export function listenError(where: string, setting: string, cause: unknown): Error {
  if (cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE') {
    return new PlatformError('PORT_IN_USE', `listening on ${where}: another program has the port; stop it or set ${setting}`, { cause });
  }
  return new Error(`listening on ${where}`, { cause });
}
