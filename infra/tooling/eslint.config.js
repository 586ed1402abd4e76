import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const io = ['kafkajs', 'avsc', '@clickhouse/client', 'chdb', 'fastify', 'pino', '@tensorflow/tfjs-core', 'minisearch'];
const why = 'The core does no IO: take a port from streams/core/ports.ts.';
const clock = {
  object: 'Date',
  property: 'now',
  message: 'It may jump. Durations and deadlines: performance.now() or clock.monotonic(). Timestamps: clock.now().',
};
const env = { object: 'process', property: 'env', message: 'Read configuration through infra/config.' };

export default defineConfig(
  globalIgnores([
    '**/dist/**',
    'coverage/**',
    '.turnstream/**',
    'schemas/generated/**',
    'infra/tooling/*.js',
    'infra/tooling/*.cjs',
    'infra/tooling/{vite,vitest}.config.ts',
    '**/*.mjs',
    'infra/e2e/clients/openapi/**',
  ]),
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: process.cwd() } },
    rules: {
      complexity: ['error', 10],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 3],
      'no-console': 'error',
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
      'no-restricted-properties': ['error', env, clock],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/require-await': 'off', // in-memory adapters implement async ports
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  {
    files: ['streams/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        { paths: io.map((name) => ({ name, message: why })), patterns: [{ group: ['node:*', '!node:crypto'], message: why }] },
      ],
      'no-restricted-globals': ['error', 'process', 'setTimeout', 'setInterval', 'fetch'],
      'no-restricted-syntax': [
        'error',
        { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: 'Time is an input.' },
      ],
      // options replace, they do not merge: repeat `env` here
      'no-restricted-properties': [
        'error',
        env,
        { object: 'Date', property: 'now', message: 'Time is an input.' },
        { object: 'Math', property: 'random', message: 'Randomness is an input.' },
      ],
    },
  },
  {
    files: ['consumers/dashboard/app/**'],
    languageOptions: { parserOptions: { project: './consumers/dashboard/app/tsconfig.json', tsconfigRootDir: process.cwd() } },
    rules: {
      // ages are measured against the clock of the browser
      'no-restricted-properties': 'off',
      // markup counts as lines, and each optional part as a branch
      complexity: ['error', 14],
      'max-lines-per-function': ['error', { max: 100, skipBlankLines: true, skipComments: true }],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      'no-restricted-syntax': [
        'error',
        { selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]', message: 'Data is text, never HTML.' },
        { selector: 'MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML)$/]', message: 'Data is text, never HTML.' },
      ],
    },
  },
  { files: ['infra/app/**', 'infra/cli/**', 'infra/config/**'], rules: { 'no-restricted-properties': 'off' } },
  {
    // the clock itself, times that people are shown or that outlive the process, and kafkajs, which reads this clock
    files: [
      'infra/lifecycle/clock.ts',
      'infra/clickhouse/store/offenders.ts',
      'infra/kafka/broker/local-lock.ts',
      'infra/telemetry/log-lines.ts',
      'infra/telemetry/status.ts',
      'infra/http/{health-server,probes,sessions}.ts',
      'infra/llm/try-once.ts',
      'infra/kafka/patches/heartbeats.ts',
      'consumers/warehouse/audit-rows.ts',
    ],
    rules: { 'no-restricted-properties': ['error', env] },
  },
  {
    files: ['**/*.test.ts', '**/*.{contract,testing}.ts', 'infra/testing/**', 'infra/e2e/**', 'infra/tooling/**', 'infra/bench/**'],
    rules: {
      'max-lines': ['error', { max: 600, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': 'off',
      'no-restricted-properties': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
);
