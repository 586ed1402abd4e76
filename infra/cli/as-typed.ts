import type { ProcessEnv } from '../lifecycle/inherited-env.ts';

/** Commands in help texts and messages: in backquotes, in an example, after its variables, or after another command. */
const COMMAND = /(`|^ {2}\$ (?:[A-Z_]+=\S+ )*|^Usage: | (?:&&|\|) )turnstream(?= )/gm;

/** Rewrites the commands in a text so that its reader can paste them: a program that npm started may not be on the path. */
export const asTyped = (text: string, env: ProcessEnv): string =>
  env['npm_command'] === undefined ? text : text.replace(COMMAND, '$1npx turnstream');
