import { describe, expect, it } from 'vitest';
import * as reports from '../../consumers/api/reports/reports.sql.ts';
import { guideQuestions, paramsOf, routeOf } from './guides.ts';

const values = { run: 'a', other: 'b', step: 3, trajectory: 'a/b.0', question: 'q' };
const plain = (sql: string): string => sql.replace(/\s+/g, ' ').trim();

describe('the guide of the twelve questions', () => {
  it('has a statement and a route for each', () => {
    expect(guideQuestions).toHaveLength(12);
    for (const { title, sql, routes } of guideQuestions) {
      expect(sql, title).toMatch(/^(SELECT|WITH)/);
      expect(sql, title).toContain('{run:String}');
      for (const route of routes) expect(routeOf(route, values), title).toMatch(/^\/v1\/[^$]+$/);
    }
  });

  it('shows the statements that the reports run', () => {
    const shown = guideQuestions.map(({ sql }) => plain(sql));
    // The route of this query is paginated where the statement has a limit.
    const limits: Partial<Record<string, string>> = { runQuestionsSql: ' LIMIT 1000' };
    for (const [name, sql] of Object.entries(reports)) expect(shown, name).toContain(`${plain(sql)}${limits[name] ?? ''}`);
  });

  it('gives parameters by their names, and values that fit into a path', () => {
    expect(paramsOf('{run:String} {step:Int32} {run:String} {from_step:Int32}', values)).toEqual({ run: 'a', step: 3, from_step: 0 });
    expect(routeOf('/v1/trajectories/$TRAJECTORY?run=$RUN', values)).toBe('/v1/trajectories/a%2Fb.0?run=a');
  });
});
