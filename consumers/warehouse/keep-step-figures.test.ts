import { expect, it } from 'vitest';
import type { Clock, Row, Store } from '../../streams/core/ports.ts';
import { StepFigureKeeper } from './keep-step-figures.ts';

interface Step {
  readonly run_id: string;
  readonly step: number;
}

const steps = (run: string, count: number): Step[] => Array.from({ length: count }, (_, at) => ({ run_id: run, step: at + 1 }));

/** Steps of the run `cut` stay incomplete forever; all others are complete. */
function fakeStore(open: readonly Step[]) {
  const kept = new Set<string>();
  const key = ({ run_id, step }: Step): string => `${run_id}/${step}`;
  const query = (sql: string, { params }: { readonly params: Row }): Promise<readonly object[]> => {
    const run = String(params['run']);
    if (!sql.includes('limit {most'))
      return Promise.resolve(
        open
          .filter(({ run_id, step }) => run_id === run && step >= Number(params['from_step']) && step <= Number(params['to_step']))
          .map(({ step }) => ({ step, is_whole: run === 'cut' ? 0 : 1 })),
      );
    const behind = (one: Step): boolean => one.run_id > run || (one.run_id === run && one.step > Number(params['step']));
    return Promise.resolve(open.filter((one) => behind(one) && !kept.has(key(one))).slice(0, Number(params['most'])));
  };
  const insert = (_: string, rows: readonly Row[]): Promise<void> => {
    for (const row of rows) kept.add(key({ run_id: String(row['run_id']), step: Number(row['step']) }));
    return Promise.resolve();
  };
  return { kept, store: { query, insert } as unknown as Pick<Store, 'query' | 'insert'> };
}

it('keeps every complete step, however many incomplete ones come before it', async () => {
  const { kept, store } = fakeStore([...steps('cut', 4_500), ...steps('whole', 150)]);
  const clock = { monotonic: () => 0 } as Clock;
  const keeper = new StepFigureKeeper({ store, clock });
  for (let rounds = 0; rounds < 200 && kept.size < 150; rounds += 1) await keeper.round();
  expect(kept.size).toBe(150);
});

it('starts over after the last step, and checks incomplete steps again', async () => {
  let now = 0;
  const open = [...steps('cut', 2_100), ...steps('whole', 1)];
  const { kept, store } = fakeStore(open);
  const keeper = new StepFigureKeeper({ store, clock: { monotonic: () => now } as Clock });
  for (let rounds = 0; rounds < 60; rounds += 1) await keeper.round();
  expect(kept).toEqual(new Set(['whole/1']));
  expect((await keeper.round()).kept).toBe(0);
  now += 3_600_000;
  const tried = [await keeper.round(), await keeper.round(), await keeper.round()];
  expect(Math.max(...tried.map((round) => round.kept))).toBe(64);
});
