// Health endpoints: /healthz shows that the process is alive, the state of each dependency, and what every role of its supervisor does.
// /readyz is 200 only when all dependencies answer and every role is ready; otherwise it says which of them waits for what.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { messageOf, PlatformError } from '../../streams/core/errors.ts';
import type { RoleStatus } from '../../streams/core/telemetry.ts';
import { inTime } from '../lifecycle/waiting.ts';
import { unreadyAmong, type ServiceHealth } from '../telemetry/health.ts';

/** A dependency that must work before requests can be answered: the log, the store, its migrations. */
export interface HealthProbe {
  readonly name: string;
  /** Resolves when it works; otherwise rejects with a message that says why. */
  check(): Promise<void>;
}

export interface ProbeReport {
  readonly name: string;
  readonly state: 'up' | 'down';
  /** Empty when up. */
  readonly detail: string;
  readonly ms: number;
}

const TIMEOUT_MS = 2_000;

/** Runs every probe in parallel; one that hangs counts as down after two seconds. */
export async function runProbes(probes: readonly HealthProbe[], timeoutMs = TIMEOUT_MS): Promise<readonly ProbeReport[]> {
  return Promise.all(probes.map((probe) => runProbe(probe, timeoutMs)));
}

async function runProbe(probe: HealthProbe, timeoutMs: number): Promise<ProbeReport> {
  const started = performance.now();
  const report = (state: ProbeReport['state'], detail: string): ProbeReport => ({
    name: probe.name,
    state,
    detail,
    ms: Math.round(performance.now() - started),
  });
  try {
    await inTime(probe.check(), timeoutMs, () => new Error(`no answer within ${timeoutMs} ms`));
    return report('up', '');
  } catch (error) {
    return report('down', messageOf(error));
  }
}

/** Sources of the health and the metrics of this process. */
export interface HealthSources {
  readonly probes: readonly HealthProbe[];
  /** Metrics in the Prometheus text format. */
  readonly metricsText: () => Promise<string> | string;
  /** State of the role that runs in this process. */
  readonly status: () => RoleStatus;
  /** Health of the other services of the supervisor; none without a supervisor. */
  readonly services?: () => readonly ServiceHealth[];
}

const namesDown = (dependencies: readonly ProbeReport[]): readonly string[] =>
  dependencies.filter(({ state }) => state === 'down').map(({ name }) => name);

const tags = ['operation'];
const found = (schema: object) => ({ 200: Type.Unsafe({ ...schema, 'x-response-description': 'As it is now.' }) });
const status = { state: Type.String(), detail: Type.String() };

const healthSchema = Type.Object(
  {
    alive: Type.Boolean(),
    ...status,
    figures: Type.Record(Type.String(), Type.Number()),
    uptime_s: Type.Integer(),
    dependencies: Type.Array(
      Type.Object(
        { name: Type.String(), state: Type.Enum(['up', 'down']), detail: Type.String(), ms: Type.Integer() },
        { title: 'Dependency' },
      ),
    ),
    services: Type.Array(
      Type.Object(
        { name: Type.String(), ...status, restarts: Type.Integer(), since: Type.String({ format: 'date-time' }) },
        { title: 'Service' },
      ),
    ),
  },
  { title: 'Health' },
);

/** Registers /healthz, /readyz and /metrics. */
export function addHealthRoutes(app: FastifyInstance, sources: HealthSources): void {
  app.get(
    '/healthz',
    {
      config: { scope: 'public' },
      schema: {
        tags,
        operationId: 'getHealth',
        summary: 'Whether the process is alive, the state of each dependency, and what every role does',
        response: found(healthSchema),
      },
    },
    async () => {
      const dependencies = await runProbes(sources.probes);
      const services = (sources.services?.() ?? []).map(({ sinceMs, ...service }) => ({
        ...service,
        since: new Date(sinceMs).toISOString(),
      }));
      return { alive: true, ...sources.status(), uptime_s: Math.round(process.uptime()), dependencies, services };
    },
  );

  app.get(
    '/readyz',
    {
      config: { scope: 'public' },
      schema: {
        tags,
        operationId: 'getReadiness',
        summary: 'Whether requests can be answered and every role does its work',
        response: found(Type.Object({ ready: Type.Boolean() }, { title: 'Readiness' })),
      },
    },
    async () => {
      const dependencies = await runProbes(sources.probes);
      const down = namesDown(dependencies).map((name) => `${name} does not answer`);
      const waiting = [...down, ...unreadyAmong(sources.services?.() ?? [], Date.now())];
      if (waiting.length > 0) throw new PlatformError('NOT_READY', `checking readiness: ${waiting.join('; ')}; see /healthz`);
      return { ready: true };
    },
  );

  app.get(
    '/metrics',
    {
      schema: { tags, operationId: 'getMetrics', summary: 'Prometheus metrics', produces: ['text/plain'], response: found(Type.String()) },
    },
    async (_request, reply) => {
      reply.type('text/plain; version=0.0.4; charset=utf-8');
      return sources.metricsText();
    },
  );
}
