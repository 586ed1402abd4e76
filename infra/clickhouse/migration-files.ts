// The migrations of this release: `NNNN-name.sql` in infra/clickhouse/migrations, in the package folder, whether the code runs from source
// or from dist/. Statements end with a semicolon; semicolons in strings, names and comments do not count. A checksum covers the statements
// without comments.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PlatformError } from '../../streams/core/errors.ts';
import { tokens } from './sql-text.ts';

export interface Migration {
  readonly number: number;
  /** File name without `.sql`. */
  readonly name: string;
  /** SHA-256, hexadecimal. */
  readonly checksum: string;
  readonly statements: readonly string[];
}

const FILE = /^(\d{4})-([a-z0-9-]+)\.sql$/;

/** In numeric order. Throws MIGRATION_MISMATCH for a file with an invalid name or number. */
export async function readMigrations(folder = migrationsFolder()): Promise<readonly Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  const migrations = await Promise.all(
    files.map(async (file) => {
      const number = FILE.exec(file)?.[1];
      if (number === undefined) throw unusable(folder, `${file} is not named NNNN-name.sql`);
      return parseMigration(Number(number), file.slice(0, -'.sql'.length), await readFile(join(folder, file), 'utf8'));
    }),
  );
  const twice = migrations.find(({ number }, at) => migrations[at - 1]?.number === number);
  if (twice !== undefined) throw unusable(folder, `two files have the number ${twice.number}`);
  return migrations;
}

const unusable = (folder: string, why: string): PlatformError =>
  new PlatformError('MIGRATION_MISMATCH', `reading migrations from ${folder}: ${why}`);

export function parseMigration(number: number, name: string, text: string): Migration {
  const statements = splitStatements(text);
  const checksum = createHash('sha256').update(statements.map(normalised).join(';\n')).digest('hex');
  return { number, name, checksum, statements };
}

/** Splits a text into statements without their semicolons; comments between them are left out. */
export function splitStatements(text: string): readonly string[] {
  const found: string[] = [];
  let start: number | undefined;
  let end = 0;
  for (const token of tokens(text)) {
    if (token.kind === 'symbol' && text[token.start] === ';') {
      if (start !== undefined) found.push(text.slice(start, end));
      start = undefined;
      continue;
    }
    start ??= token.start;
    end = token.end;
  }
  if (start !== undefined) found.push(text.slice(start, end));
  return found;
}

const normalised = (statement: string): string => [...tokens(statement)].map(({ start, end }) => statement.slice(start, end)).join(' ');

function migrationsFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('no package.json above infra/clickhouse');
    folder = parent;
  }
  return join(folder, 'infra', 'clickhouse', 'migrations');
}
