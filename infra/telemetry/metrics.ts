// Implements the Metrics port with prom-client: one registry per process, every series labeled with its role; includes the default process
// metrics and the event loop delay. Snapshots of other processes are merged series by series.
import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { metricTable, type MetricName, type Metrics } from '../../streams/core/telemetry.ts';

/** The metrics of one process as plain data, to send to another process. */
export type MetricsSnapshot = readonly object[];

export interface ProcessMetrics extends Metrics {
  /** Prometheus text, with the metrics of `others` merged in. */
  text(others?: readonly MetricsSnapshot[]): Promise<string>;
  snapshot(): Promise<MetricsSnapshot>;
  readonly contentType: string;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

type Instrument = Counter | Gauge | Histogram;

function instrumentOf(name: MetricName, registers: Registry[]): Instrument {
  const { kind, help, labels } = metricTable[name];
  const options = { name: `turnstream_${name}`, help, labelNames: [...labels], registers };
  switch (kind) {
    case 'counter':
      return new Counter(options);
    case 'gauge':
      return new Gauge(options);
    case 'histogram':
      return new Histogram({ ...options, buckets: SECONDS });
  }
}

/** Metrics of a role's own area exist from its start; those of shared adapters from their first use. */
function areaOf(role: string): string {
  const [name = role] = role.split('-');
  return name === 'warehouse' ? 'sink' : name;
}

/** Creates the registry of this process. `role`, e.g. `worker-2`, labels every series, and so does the run, if there is one. */
export function createMetrics(role: string, run?: string): ProcessMetrics {
  const registry = new Registry();
  registry.setDefaultLabels({ role, ...(run === undefined ? {} : { run }) });
  collectDefaultMetrics({ register: registry });
  const instruments = new Map<MetricName, Instrument>();
  const use = (name: MetricName): Instrument => {
    const instrument = instruments.get(name) ?? instrumentOf(name, [registry]);
    instruments.set(name, instrument);
    return instrument;
  };
  const area = areaOf(role);
  for (const name of Object.keys(metricTable) as MetricName[]) if (name.startsWith(`${area}_`)) use(name);
  return {
    count(name, labels, by = 1) {
      const counter = use(name);
      if (counter instanceof Counter) counter.inc(labels, by);
    },
    set(name, labels, value) {
      const gauge = use(name);
      if (gauge instanceof Gauge) gauge.set(labels, value);
    },
    observe(name, labels, value) {
      const histogram = use(name);
      if (histogram instanceof Histogram) histogram.observe(labels, value);
    },
    snapshot: () => registry.getMetricsAsJSON(),
    async text(others = []) {
      if (others.length === 0) return registry.metrics();
      return AggregatorRegistry.aggregate([await registry.getMetricsAsJSON(), ...others]).metrics();
    },
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
  };
}
