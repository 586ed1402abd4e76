import type { TrainingRun } from '../../app/fleet/training.ts';
import type { Config } from '../../config/descriptors.ts';
import { loadConfig } from '../../config/load.ts';
import type { ProcessEnv } from '../../lifecycle/inherited-env.ts';

const repeated = ['dataset', 'mode', 'recipe'] as const;

export interface StartedRun {
  readonly config: Config;
  readonly training: TrainingRun;
  readonly env: ProcessEnv;
}

/** The command that continues a run in the same environment, with the original flags it still needs. `steps` is a new number of steps. */
export function resumeCommand({ config, training, env }: StartedRun, steps?: number): string {
  const fromEnv = loadConfig(env);
  const flags = [
    ...(steps === undefined ? [] : [`--steps ${steps}`]),
    ...repeated.flatMap((name) => (config[name] === fromEnv[name] ? [] : [`--${name} ${config[name]}`])),
    ...(training.evaluate ? [] : ['--no-eval']),
  ];
  return ['turnstream up --run', training.run, ...flags].join(' ');
}
