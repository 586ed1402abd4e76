import { beforeEach } from 'vitest';

/** For tests that are the steps of one story: once a step has failed, later ones are skipped, because each would wait until its time limit. */
export function skipAfterFailure(): void {
  let failed = false;
  beforeEach((context) => {
    context.skip(failed, 'an earlier step failed');
    context.onTestFailed(() => {
      failed = true;
    });
  });
}
