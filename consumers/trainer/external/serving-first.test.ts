import { expect, it } from 'vitest';
import { createServingFirst } from './serving-first.ts';

async function* endless(): AsyncGenerator<number, void, undefined> {
  for (let next = 0; ; next += 1) yield next;
}

it('does not wait if no items are taken', async () => {
  let moments = 0;
  await createServingFirst(async () => (moments += 1)).newTurns()();
  expect(moments).toBe(0);
});

it('waits as long as items are taken, and no longer', async () => {
  let [moments, busy] = [0, 5];
  const serving = createServingFirst(async () => {
    moments += 1;
    if (busy > 0) await items.next();
    busy -= 1;
  });
  const items = serving.track(endless());
  await items.next();
  const giveWay = serving.newTurns();
  await giveWay();
  expect(moments).toBe(6);
  await giveWay();
  expect(moments).toBe(7);
  await items.return();
  await giveWay();
  expect(moments).toBe(7);
});

it('waits a limited time in total, however long items are taken', async () => {
  let moments = 0;
  const serving = createServingFirst(async () => {
    moments += 1;
    await items.next();
  });
  const items = serving.track(endless());
  await items.next();
  const giveWay = serving.newTurns();
  await giveWay();
  const most = moments;
  expect(most).toBeLessThan(1_000);
  await giveWay();
  expect(moments).toBe(most);
});
