// How `turnstream status` looks.
import type { StatusReport } from '../app/status-report.ts';
import { diskText } from '../lifecycle/disk-use.ts';
import { withoutSecrets } from './progress-view.ts';
import { renderRuns } from './summary-view.ts';

/** Addresses, processes, runs. */
export function renderStatus(status: StatusReport, showSecrets = false): string {
  const address = (name: string, value: string | null): string =>
    `${name.padEnd(12)}${value === null ? 'not running' : showSecrets ? value : withoutSecrets(value)}\n`;
  const processes = Object.entries(status.processes).map(([name, pid]) => `${name} ${pid}`);
  return [
    address('Kafka', status.kafka),
    address('registry', status.registry),
    address('ClickHouse', status.clickhouse),
    address('API', status.api),
    ...(processes.length > 0 ? [`processes   ${processes.join(', ')}\n`] : []),
    ...(status.disk === null ? [] : [`disk        ${diskText(status.disk)}\n`, `kept        ${status.kept}\n`]),
    '\n',
    renderRuns(status.runs),
  ].join('');
}
