// Standard output and standard error of a command: unchanged in files and pipes, without control sequences of others on a terminal.
import { terminalChunks, terminalText } from '../../telemetry/terminal-text.ts';

interface OutputStream {
  readonly isTTY?: boolean;
  write(data: string | Buffer): boolean;
  once(event: 'drain', listener: () => void): unknown;
}

interface CommandOutput {
  readonly text: (text: string) => void;
  /** Resolves when the stream accepts more. */
  readonly bytes: (bytes: Buffer) => Promise<void>;
}

export function outputTo(stream: OutputStream): CommandOutput {
  const isTerminal = stream.isTTY === true;
  const shown = terminalChunks();
  return {
    text: (text) => void stream.write(isTerminal ? terminalText(text) : text),
    bytes: (bytes) =>
      new Promise((resolve) => {
        if (stream.write(isTerminal ? shown(bytes) : bytes)) resolve();
        else stream.once('drain', resolve);
      }),
  };
}
