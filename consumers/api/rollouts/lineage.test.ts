import { describe, expect, it } from 'vitest';
import { createFakeStore } from '../../../infra/testing/fake-store.ts';
import { listLineage } from './lineage.reader.ts';

/** A run of 100 steps, with one turn in each of `steps`. */
function reading(steps: readonly number[]) {
  const looked: (readonly [number, number])[] = [];
  const store = createFakeStore(({ sql, params }) => {
    if (sql.startsWith('select min(step)')) return [{ first: Math.max(1, Number(params['from'])), last: 100 }];
    const [least, most] = [Number(params['step_least'] ?? 0), Number(params['step_most'] ?? 100)];
    looked.push([least, most]);
    const after = Number(params['after_0'] ?? 0);
    const found = steps.filter((step) => step >= least && step <= most && step > after);
    return found.slice(0, Number(params['page_rows'])).map((step) => ({ step, trajectory_id: 't', attempt: 0, turn: 0 }));
  });
  return { looked, page: (request: object) => listLineage(store, 'run-a', { limit: 2, fields: ['step'], ...request }) };
}

const stepsOf = ({ items }: { readonly items: readonly object[] }) => items.map((row) => ('step' in row ? row.step : undefined));

describe('the lineage of a run', () => {
  it('reads more steps only while the page is not full', async () => {
    const { looked, page } = reading([1, 2, 5, 40, 41, 90]);
    const first = await page({});
    expect(stepsOf(first)).toEqual([1, 2]);
    expect(looked).toEqual([
      [1, 1],
      [1, 8],
    ]);
    looked.length = 0;
    const second = await page({ cursor: first.next_cursor });
    expect(stepsOf(second)).toEqual([5, 40]);
    expect(looked).toEqual([
      [2, 2],
      [2, 9],
      [2, 65],
    ]);
    const third = await page({ cursor: second.next_cursor });
    expect(stepsOf(third)).toEqual([41, 90]);
    expect(third.next_cursor).toBeNull();
  });

  it('reads one step when that is asked for, and all steps for a trajectory', async () => {
    const { looked, page } = reading([3, 4]);
    expect(stepsOf(await page({ step: 4 }))).toEqual([4]);
    expect(stepsOf(await page({ trajectory: 't' }))).toEqual([3, 4]);
    expect(looked).toEqual([
      [4, 4],
      [0, 100],
    ]);
  });
});
