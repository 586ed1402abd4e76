import type { FoldTopic } from './fold-topic.ts';

/** The job of one process of the fold bench. */
export interface FoldJob {
  readonly mode: 'count' | 'decode' | 'fold';
  readonly brokers: readonly string[];
  readonly topic: FoldTopic;
}

export interface FoldMeasure {
  readonly records: number;
  /** From the first batch to the last record. */
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly ready: number;
  readonly rssBytes: number;
}
