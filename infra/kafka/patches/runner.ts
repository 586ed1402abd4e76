// Ends the fetch loop of a consumer that stops, and drops what was fetched before a seek.
//
// Reason: (1) fetchers that were recreated for other brokers while their consumer was stopping fetch forever, without a pause in
// which the process could do anything else.
// (2) A batch of nothing but transaction markers that was fetched before a seek is reported as the position after it. The sink seeks to
// the last stored record to compare it: after such a report, that record seemed to be missing from the log.
// Upstream: (1) https://github.com/tulios/kafkajs/issues/1384 is the same loop in a running consumer. It is fixed in 2.1; the loop
// in a stopping consumer is not reported. (2) is not reported; handlers of batches with records have `isStale()` for this.
import type { Patch } from './patch.ts';

/** The loop of a consumer of kafkajs, as far as this patch needs it. */
interface Runner {
  readonly running: boolean;
  readonly fetchManager: { stop(): Promise<void> };
  readonly consumerGroup: { hasSeekOffset(at: { readonly topic: string; readonly partition: number }): boolean };
  fetch(nodeId: string): Promise<unknown>;
  handleBatch(batch: RunnerBatch): Promise<void>;
}

interface RunnerBatch {
  readonly topic: string;
  readonly partition: number;
  isEmpty(): boolean;
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

    override async handleBatch(batch: RunnerBatch): Promise<void> {
      if (batch.isEmpty() && this.consumerGroup.hasSeekOffset({ topic: batch.topic, partition: batch.partition })) return;
      await super.handleBatch(batch);
    }
  };

export const runnerPatch: Patch = { module: 'consumer/runner.js', replace: runnerOf };
