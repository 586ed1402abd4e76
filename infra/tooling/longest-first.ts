// Starts the slowest test files first, so that none of them runs alone at the end. vitest sorts by the times of earlier runs, and a clean
// clone has none.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take more than 40 s on two cores, longest first. */
const LONG = [
  'infra/e2e/demo-lm.int.test.ts',
  'infra/e2e/first-light.int.test.ts',
  'infra/e2e/torture/torture.int.test.ts',
  'consumers/warehouse/warehouse.int.test.ts',
  'infra/e2e/clocks.int.test.ts',
  'infra/e2e/serve.int.test.ts',
  'infra/kafka/outage.int.test.ts',
  'infra/e2e/foreign-page.int.test.ts',
  'infra/e2e/crash-points.int.test.ts',
  'infra/e2e/up.int.test.ts',
  'infra/e2e/dashboard-texts.int.test.ts',
  'infra/e2e/two-of-the-same.int.test.ts',
  'infra/e2e/contributing.int.test.ts',
  'infra/e2e/dashboard-pages.int.test.ts',
  'infra/e2e/model-runs.int.test.ts',
  'infra/e2e/dashboard.int.test.ts',
  'infra/cli/warehouse/rebuild.int.test.ts',
  'infra/e2e/flow-control.int.test.ts',
  'consumers/warehouse/audit.int.test.ts',
  'infra/app/roles/roles.int.test.ts',
  'infra/e2e/guides-pasted.int.test.ts',
  'infra/e2e/dashboard-features.int.test.ts',
  'consumers/warehouse/audit-long.int.test.ts',
  'infra/e2e/disk-full.int.test.ts',
  'infra/e2e/counted-once.int.test.ts',
  'infra/e2e/torture/sink.int.test.ts',
  'consumers/warehouse/audit-tampered.int.test.ts',
  'infra/kafka/broker/local.int.test.ts',
  'infra/e2e/dashboard-outage.int.test.ts',
  'consumers/api/run-fold.int.test.ts',
  'producers/rollouts/worker/worker.int.test.ts',
  'infra/e2e/external-trainer.int.test.ts',
];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const at = LONG.findIndex((file) => moduleId.endsWith(`/${file}`));
  return at < 0 ? LONG.length : at;
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b));
  }
}
