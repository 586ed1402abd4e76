// `turnstream plot`: the curves of a run as files.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { charts } from '../../consumers/curves/charts.ts';
import { readCurves, type CurvePoint } from '../../consumers/curves/curves.ts';
import { eventFile, eventFileName } from '../../consumers/curves/event-file.ts';
import { escapeXml, renderChart } from '../../consumers/curves/svg.ts';
import type { Logger } from '../../streams/core/ports.ts';
import type { Config } from '../config/descriptors.ts';
import { replaceFile } from '../lifecycle/replace-file.ts';
import { withStore } from './with-store.ts';

export const plotFormats = ['svg', 'tensorboard', 'all'] as const;
export type PlotFormat = (typeof plotFormats)[number];

export interface PlotOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly run: string;
  /** Made when it is not there; files of the same names are replaced. */
  readonly out: string;
  readonly format: PlotFormat;
}

export interface PlotReport {
  readonly steps: number;
  /** Paths, in the order in which they were written. */
  readonly files: readonly string[];
}

/** Groups of tags as TensorBoard shows them. */
function tagOf(series: string): string {
  const group = /^(reward|f1|turns|tool_calls|searches|accesses|tokens|completion_tokens|staleness|discarded)/.exec(series)?.[1];
  return `${group ?? 'training'}/${series}`;
}

/** Writes a chart a file with a page that shows them all, and an event file in a directory named like the run. */
export async function plotRun({ config, logger, run, out, format }: PlotOptions): Promise<PlotReport> {
  const points = await withStore({ config, logger, purpose: 'plot' }, (store) => readCurves(store, run));
  const files: string[] = [];
  const write = async (folder: string, name: string, content: string | Buffer): Promise<void> => {
    await mkdir(folder, { recursive: true });
    const file = join(folder, name);
    await replaceFile(file, content);
    files.push(file);
  };
  if (format !== 'tensorboard') {
    for (const chart of charts) await write(out, `${chart.name}.svg`, renderChart(chart, run, points));
    await write(out, 'index.html', pageOf(run, points));
  }
  if (format !== 'svg') await write(join(out, 'tensorboard', run), eventFileName(points, run), eventFile(points, tagOf));
  return { steps: points.length, files };
}

function pageOf(run: string, points: readonly CurvePoint[]): string {
  const images = charts.map(({ name, title }) => `<img src="${name}.svg" alt="${escapeXml(title)}">`);
  const name = escapeXml(run);
  return `<!doctype html>\n<meta charset="utf-8">\n<title>${name}</title>\n<h1>${name}</h1>\n<p>${points.length} steps</p>\n${images.join('\n')}\n`;
}
