import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';

const architecture = { format: 'mlp-f32-v1', inputs: 2, hidden: [4] } as const;

describe('a process with a learner', () => {
  const end = async (lines: string): Promise<number | null> => {
    const options = `{ architecture: ${JSON.stringify(architecture)}, algorithm: 'grpo', learningRate: 0.01, backend: 'cpu' }`;
    const script = `import { createLearner } from ${JSON.stringify(new URL('./learner.ts', import.meta.url).href)};
      const learner = await createLearner(${options}); ${lines}`;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], { stdio: 'ignore' });
    const [code] = (await once(child, 'exit')) as [number | null];
    return code;
  };

  it('ends well after the learner was closed, and is not kept alive by an idle one', async () => {
    expect(await end('await learner.initial(1); await learner.close(); process.exitCode = 4;')).toBe(4);
    expect(await end('await learner.initial(1); process.exitCode = 5;')).toBe(5);
  });
});
