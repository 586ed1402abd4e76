import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { metricTable, type MetricName } from '../../streams/core/telemetry.ts';
import { createMetrics } from '../telemetry/metrics.ts';

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr?: string; readonly rawSql?: string }[];
}
const { panels } = JSON.parse(readFileSync('infra/docker/grafana/dashboards/turnstream.json', 'utf8')) as {
  readonly panels: readonly Panel[];
};
const expressions = panels.flatMap(({ title, targets = [] }) =>
  targets.flatMap(({ expr }) => (expr === undefined ? [] : [{ title, expr }])),
);
const reference = readFileSync('infra/docs/reference/metrics.md', 'utf8');
const names = Object.keys(metricTable) as MetricName[];

describe('the Grafana dashboard', () => {
  it('uses only metrics and labels that are in the reference', () => {
    expect(expressions.length).toBeGreaterThan(20);
    for (const { title, expr } of expressions) {
      const used = [...expr.matchAll(/turnstream_(\w+)/g)].map(([, name = '']) => name.replace(/_bucket$/, ''));
      for (const name of used) {
        expect(reference, title).toContain(`\`turnstream_${name}\``);
        const labels: readonly string[] = ['role', 'run', 'le', ...metricTable[name as MetricName].labels];
        const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/\s*,\s*/));
        for (const label of grouped) expect(labels, `${title}: ${expr}`).toContain(label);
      }
    }
  });

  it('draws a line for each run wherever it shows a trainer', () => {
    for (const { title, expr } of expressions.filter(
      (one) => one.expr.includes('turnstream_trainer_') && !one.expr.includes('by (topic)'),
    )) {
      expect(expr, title).toContain('{run=~"$run"}');
      if (expr.includes('sum by')) expect(expr, title).toMatch(/by \((?:le, )?run/);
    }
  });

  it('uses only process metrics that every role has', async () => {
    const text = await createMetrics('api').text();
    const used = expressions.flatMap(({ expr }) => expr.match(/\b(?:nodejs|process)_\w+/g) ?? []);
    expect(used.length).toBeGreaterThan(2);
    for (const name of used) expect(text).toContain(`# TYPE ${name} `);
  });
});

describe('metrics', () => {
  it.each(names)('%s has a name that fits its kind', (name) => {
    const { kind } = metricTable[name];
    expect(name).toMatch(/^[a-z]+(_[a-z0-9]+)+$/);
    expect(name.endsWith('_total')).toBe(kind === 'counter');
    if (kind === 'histogram') expect(name).toMatch(/_(seconds|bytes|rows|records)$/);
  });
});
