// Opens the dashboard if a user sits at this machine: never without a terminal or a desktop, in CI, or over SSH.
import { spawn } from 'node:child_process';
import type { ProcessEnv } from '../../lifecycle/inherited-env.ts';

export interface DesktopOptions {
  readonly env: ProcessEnv;
  readonly platform: NodeJS.Platform;
  /** Standard output is a terminal. */
  readonly terminal: boolean;
  /** The setting; see TURNSTREAM_OPEN_BROWSER. */
  readonly wanted: boolean;
}

interface OpenCommand {
  readonly command: string;
  readonly args: readonly string[];
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== '';

/** The command that opens an address; undefined where no user would see it. */
export function openCommand(url: string, { env, platform, terminal, wanted }: DesktopOptions): OpenCommand | undefined {
  if (!wanted || !terminal || isSet(env['CI']) || isSet(env['SSH_CONNECTION'])) return undefined;
  if (platform === 'darwin') return { command: 'open', args: [url] };
  // not through a shell, which would take what follows an & in the address for a second command
  if (platform === 'win32') return { command: 'rundll32', args: ['url.dll,FileProtocolHandler', url] };
  const hasDesktop = isSet(env['DISPLAY']) || isSet(env['WAYLAND_DISPLAY']);
  return hasDesktop ? { command: 'xdg-open', args: [url] } : undefined;
}

/** Opens it and does not wait; where the program is missing, nothing happens. */
export function openBrowser(url: string, options: DesktopOptions): void {
  const found = openCommand(url, options);
  if (found === undefined) return;
  const child = spawn(found.command, found.args, { detached: true, stdio: 'ignore' });
  child.once('error', () => undefined);
  child.unref();
}
