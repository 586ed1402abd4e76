// A log without problems, of a run with the built-in learner.
import { beforeAll } from 'vitest';
import { runTrainer } from '../../../consumers/trainer/trainer.ts';
import { readFacts, type RunFacts } from './facts.ts';
import { depsOf, newScriptedLog, RUN } from './scripted-log.testing.ts';

async function goodLog(): Promise<RunFacts> {
  const { log, worker } = await newScriptedLog();
  await runTrainer(depsOf(log), new AbortController().signal);
  await worker.close();
  return (await readFacts(log.reader(), log.codec, RUN)).facts;
}

export let good: RunFacts;

/** Call it at the top level of a test file. */
export function setUpGoodLog(): void {
  beforeAll(async () => {
    good = await goodLog();
  }, 60_000);
}
