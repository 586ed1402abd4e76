/** The run that an `up` trains. */
export interface TrainingRun {
  readonly run: string;
  readonly seed: number;
  /** 0 = until stopped. */
  readonly steps: number;
  readonly workers: number;
  readonly evaluate: boolean;
}
