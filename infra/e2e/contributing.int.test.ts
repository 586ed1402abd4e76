// Applies the changes that infra/docs/CONTRIBUTING.md describes to a copy of the code: with all steps the types, the lint
// rules, the limits of sizes, and the tests pass, and without any one step of a change the compiler or a test reports it.
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { guideChanges, takeStep, type GuideChange } from './contributing.ts';

const run = promisify(execFile);
const changes = guideChanges();
const LIMIT_MS = 900_000;

/** The number of files that a change may touch, and the tests that detect what the compiler does not. */
const expected: Readonly<Record<string, { readonly files: number; readonly tests: readonly string[] }>> = {
  'Add a column of a turn': { files: 4, tests: ['consumers/warehouse/rows/project.test.ts'] },
  'Add a metric': { files: 3, tests: ['infra/telemetry/metrics.test.ts'] },
  'Add a tool': { files: 2, tests: ['producers/rollouts/tools/registry.test.ts'] },
  'Add a route': { files: 3, tests: ['consumers/api/api.test.ts'] },
  'Add an event': { files: 5, tests: ['consumers/warehouse/rows/project.test.ts', 'infra/testing/events.test.ts'] },
};
/** Files that are compiled besides those of the steps. */
const ALSO = ['consumers/warehouse/rows/project.ts', 'infra/testing/rollout-events.ts'];
/** The source files of the steps. */
const changedFiles = [...new Set(changes.flatMap(({ steps }) => steps.map(({ path }) => path)))].filter((path) => path.endsWith('.ts'));
const COPIED = ['schemas', 'streams', 'producers', 'consumers', 'infra', 'package.json', 'tsconfig.json', 'README.md', '.gitignore'];

let folder: string;

/** Copies the code and applies every step of every change, except step number `leftOut` of each change (0: none). */
async function follow(leftOut: number): Promise<string> {
  const root = join(folder, `without-${leftOut}`);
  for (const part of COPIED) {
    cpSync(part, join(root, part), { recursive: true, filter: (path) => !path.includes('reference/bench') });
  }
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
  for (const { steps } of changes) for (const step of steps.filter((_, at) => at + 1 !== leftOut)) takeStep(root, step);
  // the reference and the clients come from the whole program, which does not start when a step is left out
  for (const generator of ['generate-schemas', ...(leftOut === 0 ? ['generate-reference', 'generate-clients'] : [])]) {
    await run(process.execPath, ['--import', 'tsx', `infra/tooling/${generator}.ts`], { cwd: root });
  }
  return root;
}

const parsed = new Map<string, ts.SourceFile>();

/** The compiler's errors for the files of all steps. */
function compile(root: string): readonly string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as { readonly config: object };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (path, ...more) => {
    // The libraries are the same in every copy.
    if (path.startsWith(root)) return read(path, ...more);
    const file = parsed.get(path) ?? read(path, ...more);
    if (file !== undefined) parsed.set(path, file);
    return file;
  };
  const files = [...new Set([...changedFiles, ...ALSO])].map((path) => join(root, path)).filter((path) => ts.sys.fileExists(path));
  const program = ts.createProgram({ rootNames: files, options, host });
  return files.flatMap((path) =>
    [...program.getSyntacticDiagnostics(program.getSourceFile(path)), ...program.getSemanticDiagnostics(program.getSourceFile(path))].map(
      ({ file, messageText }) => `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    ),
  );
}

/** What a Node program in the copy writes when it fails; empty when it succeeds. */
async function failureIn(root: string, args: readonly string[]): Promise<string> {
  return run(process.execPath, args, { cwd: root, env: { ...process.env, NO_COLOR: '1' }, maxBuffer: 1 << 26 }).then(
    () => '',
    (error: unknown) => {
      const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
      return `${stdout}${stderr}`;
    },
  );
}

/** The failures of these changes' tests; empty when all pass. */
const test = (root: string, tested: readonly GuideChange[]): Promise<string> => {
  const files = tested.flatMap(({ title }) => expected[title]?.tests ?? []);
  const args = ['run', '--config', 'infra/tooling/vitest.config.ts', '--project', 'unit', ...files];
  return failureIn(root, ['node_modules/vitest/vitest.mjs', ...args]);
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnstream-test-contributing-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('the changes of CONTRIBUTING', () => {
  it.each(Object.entries(expected))('%s: one file per step, and no more files than expected', (title, { files }) => {
    const steps = changes.find((change) => change.title === title)?.steps ?? [];
    expect(steps.length).toBeGreaterThan(1);
    expect(new Set(steps.map(({ path }) => path)).size).toBe(steps.length);
    expect(steps.length).toBeLessThanOrEqual(files);
    for (const { path, blocks, missing } of steps)
      expect([path !== '', blocks.length > 0, missing !== ''], path).toEqual([true, true, true]);
  });

  it('are all tested here', () => {
    expect(changes.map(({ title }) => title).sort()).toEqual(Object.keys(expected).sort());
  });

  it('pass the checks when they are made as described', { timeout: LIMIT_MS }, async () => {
    const root = await follow(0);
    // the limits of sizes are those of the files that git knows
    await run('git', ['init', '--quiet'], { cwd: root });
    const checks = [
      ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'],
      ['node_modules/eslint/bin/eslint.js', '-c', 'infra/tooling/eslint.config.js', ...changedFiles],
      ['infra/tooling/check-shape.mjs'],
    ];
    expect(await Promise.all(checks.map((args) => failureIn(root, args)))).toEqual(checks.map(() => ''));
    expect(await test(root, changes)).toBe('');
    const made = (path: string): string => readFileSync(join(root, path), 'utf8');
    expect(made('infra/docs/reference/metrics.md')).toContain('worker_completion_tokens_total');
    for (const name of ['ExpiredAttempt', 'text_chars']) expect(made('infra/clients/typescript/schemas.ts')).toContain(name);
  });

  const most = Math.max(...changes.map(({ steps }) => steps.length));
  it.each(Array.from({ length: most }, (_, at) => at + 1))(
    'have a check that reports step %d when it is left out',
    { timeout: LIMIT_MS },
    async (left) => {
      const root = await follow(left);
      const said = compile(root).join('\n');
      const affected = changes.filter(({ steps }) => steps[left - 1] !== undefined);
      const unnoticed = affected.filter(({ steps }) => !said.includes(steps[left - 1]?.missing ?? ''));
      const tested = unnoticed.length === 0 ? '' : await test(root, unnoticed);
      for (const { title, steps } of unnoticed) {
        const missing = steps[left - 1]?.missing ?? '';
        expect(
          tested.includes(missing),
          `${title}: neither the compiler nor a test says ${missing}\n${said}\n${tested.slice(0, 3_000)}`,
        ).toBe(true);
      }
    },
  );
});
