import { describe, expect, it } from 'vitest';
import { createSqlWords } from './sql-words.ts';

describe('names for SQL completion', () => {
  it('are read once and kept for a minute', async () => {
    const asked: string[] = [];
    let now = 0;
    const words = createSqlWords(
      async (query) => {
        asked.push(query);
        return 'steps\trun_id\tString\tName\nsteps\tstep\tInt32\t\nturns\tturn\tInt32\t\n';
      },
      () => now,
    );
    const { tables, functions } = await words();
    expect([...tables]).toEqual([
      ['steps', ['run_id', 'step']],
      ['turns', ['turn']],
    ]);
    expect(functions).toContain('quantile');
    await words();
    now = 60_001;
    await words();
    expect(asked).toEqual(['SHOW COLUMNS', 'SHOW COLUMNS']);
  });

  it('include only functions when the columns cannot be read', async () => {
    const { tables, functions } = await createSqlWords(
      () => Promise.reject(new Error('away')),
      () => 0,
    )();
    expect(tables.size).toBe(0);
    expect(functions.length).toBeGreaterThan(100);
  });
});
