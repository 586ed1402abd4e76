// Formats the output of `turnstream status`.
import type { StatusReport } from './status-report.ts';
import { diskText } from '../../lifecycle/disk-use.ts';
import { takenText, withoutSecrets } from '../views/addresses.ts';
import { renderRuns } from './summary-view.ts';

const NAMES = { kafka: 'Kafka', registry: 'registry', clickhouse: 'ClickHouse', api: 'API' } as const;

/** Addresses, processes, runs. */
export function renderStatus(status: StatusReport, showSecrets = false): string {
  const address = (name: keyof typeof NAMES): string => {
    const value = status[name];
    const shown = value === null ? 'not running' : showSecrets ? value : withoutSecrets(value);
    const why = name === 'api' && value !== null ? takenText(status.api_port_taken) : '';
    return `${NAMES[name].padEnd(12)}${shown}${why}${status.unanswered.includes(name) ? '   no answer' : ''}\n`;
  };
  const processes = Object.entries(status.processes).map(([name, pid]) => `${name} ${pid}`);
  return [
    ...(['kafka', 'registry', 'clickhouse', 'api'] as const).map(address),
    ...(processes.length > 0 ? [`processes   ${processes.join(', ')}\n`] : []),
    ...(status.disk === null ? [] : [`disk        ${diskText(status.disk)}\n`, `kept        ${status.kept}\n`]),
    '\n',
    status.runs_unknown === null ? renderRuns(status.runs) : `the list of runs is not available: ${status.runs_unknown}\n`,
    ...(status.api === null && status.runs.length > 0 ? ['\n`turnstream serve` opens them: REST, SQL and the live stream\n'] : []),
  ].join('');
}
