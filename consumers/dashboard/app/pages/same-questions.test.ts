import { expect, it } from 'vitest';
import { questionsSql, wonSql } from './same-questions-sql.ts';

it('quotes the runs of the address as SQL strings', () => {
  const [won, each] = [wonSql("it's", ['b\\', 'c']), questionsSql("it's", 'b\\')];
  for (const sql of [won, each]) expect(sql).toContain("run_id IN ('it\\'s')");
  expect(won).toContain("run_id IN ('b\\\\', 'c')");
  expect(each).toContain("run_id IN ('b\\\\')");
});
