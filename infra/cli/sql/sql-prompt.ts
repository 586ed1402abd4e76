// The prompt of `turnstream sql`: statements of one or more lines that end with a semicolon. Ctrl-C cancels a running query or clears the
// input; Ctrl-D quits; Tab completes names. The history is kept in a file that only its owner can read.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { messageOf } from '../../../streams/core/errors.ts';
import { assertDataDir } from '../../lifecycle/data-dir.ts';
import { completeSql, type Completion, type SqlWords } from './sql-completion.ts';

export interface SqlPromptOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Takes everything except rows: times, counts, errors. */
  readonly err: (text: string) => void;
  readonly terminal: boolean;
  readonly historyFile: string;
  /** Runs a statement and writes its rows; rejects when the statement fails or the signal aborts. Returns the number of rows, if known. */
  readonly run: (statement: string, signal: AbortSignal) => Promise<number | undefined>;
  /** Names for completion; not called while a statement runs. */
  readonly words: () => Promise<SqlWords>;
  readonly now: () => number;
}

const PROMPT = 'turnstream> ';
const GOES_ON = '         -> ';
const HISTORY = 1_000;

/** Parses a line that is a prompt command instead of SQL. */
export function commandOf(
  line: string,
): { readonly kind: 'sql'; readonly sql: string } | { readonly kind: 'help' } | { readonly kind: 'leave' } | undefined {
  const words = line.trim().replace(/;$/, '').trim();
  if (/^(?:\\d|\\dt|tables|show\s+tables)$/i.test(words)) return { kind: 'sql', sql: 'SHOW TABLES' };
  const described = /^\\d\s+(\w+)$/.exec(words)?.[1];
  if (described !== undefined) return { kind: 'sql', sql: `DESCRIBE TABLE ${described}` };
  if (/^(?:\\\?|\\h|help)$/i.test(words)) return { kind: 'help' };
  if (/^(?:\\q|exit|quit)$/i.test(words)) return { kind: 'leave' };
  return undefined;
}

const QUOTED = /'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|--[^\n]*|\/\*.*?\*\//gs;

/** True when the text, without comments, ends with a semicolon outside of quotes. */
export function isWhole(text: string): boolean {
  const plain = text.replace(QUOTED, (part) => (part.startsWith('--') || part.startsWith('/*') ? '' : 'x')).trimEnd();
  return plain.endsWith(';') && !/['"`]|\/\*/.test(plain);
}

const HELP = `Statements end with a semicolon.
  \\d            tables and views
  \\d <table>    columns of a table
  \\q or Ctrl-D  quit
  Tab           complete a table, a column or a function
  Ctrl-C        stop the query
`;

const NOTHING: Completion = { hits: [], word: '' };

/** Resolves when the user quits. */
export async function runSqlPrompt(options: SqlPromptOptions): Promise<void> {
  const { input, output, terminal, historyFile, err } = options;
  const now: { session?: PromptSession } = {};
  const completer = (line: string, answer: (error: null, found: [string[], string]) => void): void => {
    void (now.session?.complete(line) ?? Promise.resolve(NOTHING)).then(({ hits, word }) => {
      answer(null, [[...hits], word]);
    });
  };
  const history = readHistory(historyFile);
  const lines = createInterface({ input, output, terminal, history, historySize: HISTORY, prompt: PROMPT, completer });
  lines.on('history', (history: string[]) => {
    writeHistory(historyFile, history);
  });
  if (terminal) err('\\? shows help\n');
  now.session = new PromptSession(options, lines);
  await now.session.ended;
}

class PromptSession {
  readonly ended: Promise<void>;
  readonly #options: SqlPromptOptions;
  readonly #lines: Interface;
  #text = '';
  #running: AbortController | undefined;
  #queue: Promise<void> = Promise.resolve();

  constructor(options: SqlPromptOptions, lines: Interface) {
    this.#options = options;
    this.#lines = lines;
    lines.on('line', (line: string) => {
      this.#queue = this.#queue.then(() => this.#take(line));
    });
    lines.on('SIGINT', () => {
      this.#interrupt();
    });
    this.ended = new Promise((resolve) => {
      lines.once('close', () => {
        this.#running?.abort();
        void this.#queue.then(() => {
          if (options.terminal) options.err('\n');
          resolve();
        });
      });
    });
    lines.prompt();
  }

  /** `line` is the text before the cursor in the last line. */
  async complete(line: string): Promise<Completion> {
    if (this.#running !== undefined) return NOTHING;
    const words = await this.#options.words();
    const before = this.#text + line;
    return completeSql(before, words, before + this.#lines.line.slice(line.length));
  }

  #interrupt(): void {
    if (this.#running !== undefined) {
      this.#running.abort(new Error('stopped'));
      return;
    }
    // Runs after the lines before it.
    this.#queue = this.#queue.then(() => {
      this.#text = '';
      this.#options.err('\n');
      this.#lines.write(null, { ctrl: true, name: 'e' });
      this.#lines.write(null, { ctrl: true, name: 'u' });
      this.#prompt();
    });
  }

  #prompt(): void {
    this.#lines.setPrompt(this.#text === '' ? PROMPT : GOES_ON);
    this.#lines.prompt();
  }

  async #take(line: string): Promise<void> {
    const command = this.#text === '' ? commandOf(line) : undefined;
    if (command?.kind === 'leave') {
      this.#lines.close();
      return;
    }
    if (command?.kind === 'help') this.#options.err(HELP);
    else if (command !== undefined) await this.#run(command.sql);
    else if (this.#text !== '' || line.trim() !== '') {
      this.#text += `${line}\n`;
      if (isWhole(this.#text)) await this.#run(this.#text);
    }
    this.#prompt();
  }

  async #run(statement: string): Promise<void> {
    const { run, now, err } = this.#options;
    this.#text = '';
    const running = new AbortController();
    this.#running = running;
    const began = now();
    try {
      const rows = await run(statement, running.signal);
      const seconds = ((now() - began) / 1_000).toFixed(3);
      err(`${rows === undefined ? '' : `${rows} ${rows === 1 ? 'row' : 'rows'}, `}${seconds} s\n`);
    } catch (error) {
      err(running.signal.aborted ? 'stopped\n' : `${messageOf(error)}\n`);
    } finally {
      this.#running = undefined;
    }
  }
}

function readHistory(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    return [];
  }
}

/** The history is a convenience: the prompt works without it. */
function writeHistory(file: string, history: readonly string[]): void {
  try {
    assertDataDir(dirname(file));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${history.join('\n')}\n`, { mode: 0o600 });
    chmodSync(file, 0o600);
  } catch {
    return;
  }
}
