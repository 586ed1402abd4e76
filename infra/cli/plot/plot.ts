// `turnstream plot`: writes the curves of a run to files.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { charts } from './charts.ts';
import { readCurves, readHeldout, type CurvePoint } from '../../../consumers/curves/curves.ts';
import { eventFile, eventFileName } from './event-file.ts';
import { readRecordedCurves, type RecordedCurves } from '../../../consumers/curves/recorded-curves.ts';
import { escapeXml, renderChart } from './svg.ts';
import { isPlatformError } from '../../../streams/core/errors.ts';
import type { Logger, Store } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { replaceFile } from '../../lifecycle/replace-file.ts';
import { withStore } from '../../app/open/with-store.ts';

export const plotFormats = ['svg', 'tensorboard', 'all'] as const;
export type PlotFormat = (typeof plotFormats)[number];

export interface PlotOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly run: string;
  /** Created if it does not exist; files with the same names are overwritten. */
  readonly out: string;
  readonly format: PlotFormat;
  /** The x axis of the charts. */
  readonly axis: 'step' | 'time';
  /** Weight of the previous smoothed value, 0 to 1. */
  readonly smoothing: number;
}

export interface PlotReport {
  /** Number of points; `unit` says what each of them is. */
  readonly steps: number;
  readonly unit: string;
  /** Paths, in the order of writing. */
  readonly files: readonly string[];
}

/** The tag of a series; TensorBoard shows the part before the slash as a group. */
function tagOf(series: string): string {
  const group =
    /^(heldout|reward|f1|turns|tool_calls|searches|accesses|prompt_tokens|generated_tokens|tokens|completion_tokens|staleness|discarded)/.exec(
      series,
    )?.[1];
  return `${group ?? 'training'}/${series}`;
}

/** Writes one file per chart with a page that shows them all, and an event file in a directory named after the run. */
export async function plotRun({ config, logger, run, out, format, axis, smoothing }: PlotOptions): Promise<PlotReport> {
  const { curves, heldout } = await withStore({ config, logger, purpose: 'plot' }, async (store) => ({
    curves: await curvesOf(store, run),
    heldout: await readHeldout(store, run),
  }));
  const { points, unit } = curves;
  const all = byStep([...points, ...heldout]);
  const files: string[] = [];
  const write = async (folder: string, name: string, content: string | Buffer): Promise<void> => {
    await mkdir(folder, { recursive: true });
    const file = join(folder, name);
    await replaceFile(file, content);
    files.push(file);
  };
  if (format !== 'tensorboard') {
    const drawn = { run, unit, axis, smoothing, beganMs: Math.min(...all.map(({ atMs }) => atMs)) };
    for (const chart of charts) await write(out, `${chart.name}.svg`, renderChart(chart, drawn, all));
    await write(out, 'index.html', pageOf(run, curves));
  }
  if (format !== 'svg') await write(join(out, 'tensorboard', run), eventFileName(points, run), eventFile(all, tagOf));
  return { steps: points.length, unit, files };
}

const byStep = (points: readonly CurvePoint[]): readonly CurvePoint[] => [...points].sort((a, b) => a.step - b.step);

/** Reads the curves of a run; if it has no steps, those of its recorded rollouts. */
async function curvesOf(store: Store, run: string): Promise<RecordedCurves> {
  try {
    return { unit: 'step', points: await readCurves(store, run) };
  } catch (error) {
    if (!isPlatformError(error, 'NOT_FOUND')) throw error;
    const recorded = await readRecordedCurves(store, run);
    if (recorded.points.length === 0) throw error;
    return recorded;
  }
}

export const countOf = (count: number, unit: string): string => (unit === 'step' ? `${count} steps` : `${count} points, each a ${unit}`);

function pageOf(run: string, { points, unit }: RecordedCurves): string {
  const images = charts.map(({ name, title }) => `<img src="${name}.svg" alt="${escapeXml(title)}">`);
  const name = escapeXml(run);
  return `<!doctype html>\n<meta charset="utf-8">\n<title>${name}</title>\n<h1>${name}</h1>\n<p>${countOf(points.length, unit)}</p>\n${images.join('\n')}\n`;
}
