import type { RoleHost } from '../app/roles/role.ts';
import type { Env } from '../config/load.ts';

/** What a command may use of its process. */
export interface CommandContext {
  readonly env: Env;
  /** The program itself, to start roles with. */
  readonly program: string;
  /** Standard output: the result of the command and nothing else. */
  readonly out: (text: string) => void;
  /** Standard error: what is wrong with how a command was called. */
  readonly err: (text: string) => void;
  /** Standard output for bytes; resolves when it takes more. */
  readonly bytes: (bytes: Buffer) => Promise<void>;
  /** Standard output is a terminal; false unless given. */
  readonly terminal?: boolean;
  /** What roles use of the process; the process itself unless given. */
  readonly host?: RoleHost;
  /** Sets the exit code; the last call counts. */
  readonly exit: (code: number) => void;
}
