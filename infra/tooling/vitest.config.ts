import { defineConfig } from 'vitest/config';
import { LongestFirst } from './longest-first.ts';

const root = process.cwd();
/** Tests that kill processes, cut connections, or compute for minutes have a command of their own: npm run test:torture. */
const torture = [
  'infra/e2e/demo-lm.int.test.ts',
  'infra/e2e/torture/**/*.int.test.ts',
  'infra/e2e/{clocks,crash-points,flow-control,two-of-the-same}.int.test.ts',
  'infra/kafka/outage.int.test.ts',
  'infra/testing/local-cluster.int.test.ts',
  'infra/app/roles/role-outages.int.test.ts',
];
/** Tests that compare times with budgets, so nothing else runs at the same time. */
const quiet = ['infra/e2e/dashboard-speed.int.test.ts'];
/** Tests often wait for timers, disks, and other processes: two at once would leave two cores partly idle. */
const WAITING_WORKERS = 3;
/**
 * These limits end a test that waits for something that never happens. They are no statement about speed: a machine whose neighbors are busy
 * takes three times as long as an idle one.
 */
const expect = { poll: { timeout: 60_000 } };

/** Options of every project that starts Kafka, stores, or other processes. */
const withProcesses = { root, expect, globalSetup: ['infra/testing/kafka.setup.ts'], testTimeout: 600_000, hookTimeout: 600_000 };

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
          // shared modules are loaded once per worker, not once per file: half the time
          isolate: false,
          maxWorkers: WAITING_WORKERS,
          sequence: { groupOrder: 0 },
          testTimeout: 60_000,
          include: ['{schemas,streams,producers,consumers,infra}/**/*.test.ts'],
          exclude: ['**/*.int.test.ts', 'node_modules/**', 'dist/**'],
        },
      },
      {
        test: {
          name: 'int',
          ...withProcesses,
          include: ['{schemas,streams,producers,consumers,infra}/**/*.int.test.ts'],
          exclude: ['node_modules/**', 'dist/**', ...torture, ...quiet],
          maxWorkers: WAITING_WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'quiet',
          ...withProcesses,
          include: quiet,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'torture',
          ...withProcesses,
          include: torture,
          sequence: { groupOrder: 3 },
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
        // runs in a browser: pure code has unit tests, and the journeys in infra/e2e run the rest
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
