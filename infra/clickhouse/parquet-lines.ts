// Reads a Parquet file as lines of JSON, with the engine of the embedded store: it supports every codec, encoding and nesting. The engine
// runs in a separate process, because a process can have only one engine and this one may need its own later.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { PlatformError } from '../../streams/core/errors.ts';
import { inheritedEnv } from '../lifecycle/inherited-env.ts';

/** The program of the other process; its arguments are the engine, the file and the wanted columns. */
const PROGRAM = `
const [engine, file, columns] = process.argv.slice(1);
const { query } = require(engine);
const quoted = (text, mark) => mark + text.replace(/[\\\\'\`]/g, (char) => '\\\\' + char) + mark;
const from = 'file(' + quoted(file, "'") + ", 'Parquet')";
try {
  const there = String(query('describe ' + from, 'JSONEachRow')).split('\\n').filter(Boolean).map((line) => JSON.parse(line).name);
  const wanted = JSON.parse(columns).filter((name) => there.includes(name));
  const list = wanted.length === 0 ? '1' : wanted.map((name) => quoted(name, '\`')).join(', ');
  const settings = ' settings output_format_json_quote_64bit_integers = 0';
  process.stdout.write(String(query('select ' + list + ' from ' + from + settings, 'JSONEachRow')));
} catch (error) {
  process.stderr.write(String(error.message ?? error));
  process.exitCode = 1;
}`;

const MESSAGE_CHARS = 300;

/** The requested columns that the file has, one row per line. Throws QUESTIONS_INVALID when it is not a Parquet file. */
export async function* parquetLines(file: string, columns: readonly string[]): AsyncGenerator<Uint8Array> {
  const engine = createRequire(import.meta.url).resolve('chdb');
  const child = spawn(process.execPath, ['-e', PROGRAM, engine, resolve(file), JSON.stringify(columns)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: inheritedEnv('alone'),
  });
  let said = '';
  child.stderr.on('data', (part: Buffer) => (said = `${said}${part.toString()}`.slice(0, 10 * MESSAGE_CHARS)));
  const ended = new Promise<number | null>((settle, reject) => {
    child.once('error', reject);
    child.once('close', settle);
  });
  ended.catch(() => undefined);
  try {
    yield* child.stdout as AsyncIterable<Uint8Array>;
    const code = await ended;
    if (code === 0) return;
    const why = said.replace(/\s+/g, ' ').trim().slice(0, MESSAGE_CHARS);
    throw new PlatformError('QUESTIONS_INVALID', `reading ${file}: ${why === '' ? `the engine ended with ${code ?? 'a signal'}` : why}`);
  } finally {
    child.kill();
  }
}
