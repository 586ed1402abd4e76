import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { resumeCommand } from './resume-command.ts';

const env = { TURNSTREAM_DATASET: 'mine' };
const training = { run: 'a', seed: 1, steps: 10, workers: 1, evaluate: true };

describe('the command that continues a run', () => {
  it('repeats the flags of the start, but not what the environment sets', () => {
    const config = loadConfig(env);
    expect(resumeCommand({ config, training, env })).toBe('turnstream up --run a');
    expect(resumeCommand({ config, training, env: {} })).toBe('turnstream up --run a --dataset mine');
    const sync = { ...config, mode: 'sync' as const };
    expect(resumeCommand({ config: sync, training: { ...training, evaluate: false }, env }, 20)).toBe(
      'turnstream up --run a --steps 20 --mode sync --no-eval',
    );
  });
});
