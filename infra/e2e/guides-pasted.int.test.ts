// Pastes the shell blocks of the guides into a shell in a fresh clone: every program is found, and turnstream accepts every line. Nothing
// starts: an unknown setting ends each command once its line has been parsed.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanEnv } from '../testing/up.ts';
import { blocksOf } from './blocks.ts';

const guides = join('infra', 'docs', 'guides');
const names = readdirSync(guides).filter((name) => name.endsWith('.md'));

let home: string;
const at = (...parts: readonly string[]): string => join(home, ...parts);

/** The files that git tracks, together with what `npm ci` creates. */
function clone(to: string): void {
  const tracked = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0');
  for (const file of tracked) if (file !== '' && existsSync(file)) cpSync(file, join(to, file));
  for (const made of ['node_modules', 'dist']) symlinkSync(join(process.cwd(), made), join(to, made));
}

/** A wrapper before the real program of that name, which records how each call ended, in one line. */
function watched(name: string, body: string): void {
  writeFileSync(
    at('bin', name),
    `#!/bin/sh\n${body}\ncode=$?\necho "$code ${name} $*" | tr '\\n' ' ' >> '${at('calls')}'\necho >> '${at('calls')}'\nexit $code\n`,
  );
  chmodSync(at('bin', name), 0o755);
}

/** What npx runs for a program of this package; the real npx would install and build a copy first. */
function npxBody(): string {
  const { bin } = JSON.parse(readFileSync(at('clone', 'package.json'), 'utf8')) as { bin: Readonly<Record<string, string>> };
  const cases = Object.entries(bin).map(([name, path]) => `${name}) (shift; exec "${process.execPath}" "${at('clone', path)}" "$@");;`);
  return `case "$1" in ${cases.join(' ')} *) echo "npx: $1 is no program of this package" >&2; (exit 127);; esac`;
}

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'turnstream-test-clone-'));
  mkdirSync(at('bin'));
  clone(at('clone'));
  watched('npx', npxBody());
  watched('npm', `${execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim()} "$@"`);
  // readers of a guide have curl, but here no server responds
  writeFileSync(at('bin', 'curl'), '#!/bin/sh\nexit 7\n');
  chmodSync(at('bin', 'curl'), 0o755);
});
afterAll(() => {
  rmSync(home, { recursive: true });
});

interface Pasted {
  /** Exit codes and commands, in order. */
  readonly calls: readonly string[];
  readonly errors: string;
}

function paste(block: string): Pasted {
  writeFileSync(at('calls'), '');
  const notFound = `command_not_found_handle() { echo "127 $*" >> '${at('calls')}'; return 127; }\n`;
  const path = `${at('bin')}:${process.env['PATH'] ?? ''}`;
  const env = cleanEnv({ PATH: path, TURNSTREAM_GUIDE: '1', NO_UPDATE_NOTIFIER: '1', npm_config_cache: at('npm') });
  const { stderr } = spawnSync('bash', ['-s'], { input: notFound + block, cwd: at('clone'), env, encoding: 'utf8' });
  const calls = readFileSync(at('calls'), 'utf8').split('\n');
  return { calls: calls.filter((line) => line !== ''), errors: stderr };
}

const blocks = names.flatMap((name) => blocksOf(readFileSync(join(guides, name), 'utf8'), 'sh').map((block) => [name, block] as const));
const wantedCalls = (block: string): number => block.split('\n').filter((line) => /(^|\s)(npx|npm) /.test(line)).length;

describe('the guides, pasted', { timeout: 300_000 }, () => {
  it('are all there', () => {
    expect(blocks.length).toBeGreaterThan(20);
  });

  it.each(blocks)('%s: %s', (_, block) => {
    const { calls, errors } = paste(block);
    expect(calls.filter((call) => call.startsWith('127 '))).toEqual([]);
    expect(calls).toHaveLength(wantedCalls(block));
    expect(errors).not.toMatch(
      /command not found|syntax error|unknown (?:option|command)|too many arguments|missing required|could not determine/,
    );
    // each line was parsed: it fails only because of the setting, or of a file that only the reader has
    for (const call of calls) expect(call).toMatch(/^2 /);
  });
});

describe('the test of the guides', () => {
  it('notices a program that a clone does not have, and a line that turnstream does not take', () => {
    expect(paste('turnstream status\n').calls).toEqual(['127 turnstream status']);
    expect(paste('npx turnstream status --nonsense\n').errors).toMatch(/unknown option/);
  });
});
