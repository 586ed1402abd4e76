// Processes of the comparison that answer with a message.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Starts a built program in `cwd`; its own output is discarded, except its errors. */
export const startBuilt = (cwd: string, file: string, args: readonly string[]): ChildProcess =>
  fork(file, args, { cwd, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });

/** The first message of a process; rejects when it ends before. */
export async function answerOf<T>(child: ChildProcess, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => {
      resolve(message as T);
    });
    child.once('exit', (code) => {
      reject(new Error(`${what} ended with code ${code ?? 'none'} before it answered`));
    });
  });
}

/** The answer of a program that ends after it. */
export async function resultOf<T>(child: ChildProcess, what: string): Promise<T> {
  const answer = await answerOf<T>(child, what);
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return answer;
}
