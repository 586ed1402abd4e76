import type { RoleHost } from '../app/roles/role.ts';
import type { ProcessEnv } from '../lifecycle/inherited-env.ts';

/** What a command may use of the process that runs it. */
export interface CommandContext {
  readonly env: ProcessEnv;
  /** Path of the program, to start roles with. */
  readonly program: string;
  /** Standard output: only the result of the command. */
  readonly out: (text: string) => void;
  /** Standard error: usage errors. */
  readonly err: (text: string) => void;
  /** Writes bytes to standard output; resolves when it accepts more. */
  readonly bytes: (bytes: Buffer) => Promise<void>;
  /** Whether standard output is a terminal. Default: false. */
  readonly terminal?: boolean;
  /** What roles use of the process. Default: the process itself. */
  readonly host?: RoleHost;
  /** Sets the exit code; the last call counts. */
  readonly exit: (code: number) => void;
}
