// Ends the fetch loop of a consumer that stops.
//
// Reason: fetchers that were recreated for other brokers while their consumer was stopping fetch forever, without a pause in
// which the process could do anything else.
// Upstream: https://github.com/tulios/kafkajs/issues/1384 is the same loop in a running consumer. It is fixed in 2.1; the loop
// in a stopping consumer is not reported.
import type { Patch } from './patch.ts';

/** The loop of a consumer of kafkajs, as far as this patch needs it. */
interface Runner {
  readonly running: boolean;
  readonly fetchManager: { stop(): Promise<void> };
  fetch(nodeId: string): Promise<unknown>;
}

type RunnerClass = new (...options: never[]) => Runner;

const runnerOf = (Original: RunnerClass): RunnerClass =>
  class extends Original {
    override async fetch(nodeId: string): Promise<unknown> {
      if (this.running) return super.fetch(nodeId);
      void this.fetchManager.stop();
      await new Promise((resolve) => setImmediate(resolve));
      return [];
    }
  };

export const runnerPatch: Patch = { module: 'consumer/runner.js', replace: runnerOf };
