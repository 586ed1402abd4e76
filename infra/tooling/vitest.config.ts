import { defineConfig } from 'vitest/config';
import { LongestFirst } from './longest-first.ts';

const root = process.cwd();
/** What strikes processes and connections, or computes, for minutes is a command of its own: npm run test:torture. */
const torture = [
  'infra/e2e/demo-lm.int.test.ts',
  'infra/e2e/torture/**/*.int.test.ts',
  'infra/e2e/{clocks,crash-points,flow-control,two-of-the-same}.int.test.ts',
  'infra/kafka/outage.int.test.ts',
  'infra/testing/local-cluster.int.test.ts',
  'infra/app/roles/role-outages.int.test.ts',
];
/** These files wait for timers, disks, and other processes much of their time: two at once leave two cores idle meanwhile. */
const WAITING_WORKERS = 3;
/** A condition is waited for, not timed: a machine may be busy with other things. */
const expect = { poll: { timeout: 20_000 } };

export default defineConfig({
  root,
  test: {
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          root,
          expect,
          sequence: { groupOrder: 0 },
          testTimeout: 30_000,
          include: ['{schemas,streams,producers,consumers,infra}/**/*.test.ts'],
          exclude: ['**/*.int.test.ts', 'node_modules/**', 'dist/**'],
        },
      },
      {
        test: {
          name: 'int',
          root,
          expect,
          include: ['{schemas,streams,producers,consumers,infra}/**/*.int.test.ts'],
          exclude: ['node_modules/**', 'dist/**', ...torture],
          globalSetup: ['infra/testing/kafka.setup.ts'],
          maxWorkers: WAITING_WORKERS,
          sequence: { groupOrder: 1 },
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'torture',
          root,
          expect,
          include: torture,
          globalSetup: ['infra/testing/kafka.setup.ts'],
          sequence: { groupOrder: 2 },
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['{schemas,streams,producers,consumers,infra}/**/*.ts'],
      exclude: [
        '**/*.test.ts',
        '**/*.{contract,testing}.ts',
        'schemas/generated/**',
        // runs in a browser: what is pure has unit tests, the journeys run the rest
        'consumers/dashboard/app/**',
        'infra/testing/**',
        'infra/tooling/**',
        'infra/bench/**',
        'infra/e2e/**',
      ],
      // a file that fails is run once more by itself; what the first run covered still counts
      reportOnFailure: true,
      reporter: ['text-summary', 'json', 'json-summary'],
    },
  },
});
