// Formats progress: a block of lines for a terminal, otherwise one JSON object per line.
import type { ServiceView, Snapshot } from '../../app/fleet/progress.ts';
import { takenText, withoutSecrets } from '../views/addresses.ts';

const number = (value: number, digits: number): string => (Number.isFinite(value) ? value.toFixed(digits) : '–');

/** The block, each line truncated to `columns`. */
export function renderProgress(snapshot: Snapshot, columns: number, signIn = ''): readonly string[] {
  const { phase, addresses } = snapshot;
  const services = snapshot.services.filter(({ name, state }) => name !== 'up' || state !== 'live');
  const lines = [
    `${titleOf(snapshot)}${phase === '' ? '' : `  (${phase})`}`,
    ...figuresOf(snapshot),
    `  ${services.map(serviceOf).join('   ')}`,
    ...snapshot.services.filter(isTold).map(({ name, detail }) => `  ${name === 'up' ? '' : `${name}: `}${detail}`),
  ];
  if (addresses !== undefined) lines.push(...addressLines(addresses));
  if (signIn !== '') lines.push(`  sign in (link works once): ${signIn}`);
  return lines.map((line) => cut(line.replace(/\s*\n\s*/g, ' '), columns));
}

/** Details of live services are not shown, except those of the disk and the run. */
const isTold = ({ name, detail, state }: ServiceView): boolean =>
  detail !== '' && (state !== 'live' || name === 'up' || name === 'trainer');

/** Steps, or the number of batches for a run that trains nothing. */
function stepOf({ step, steps, batches }: Snapshot): string {
  const made = batches ?? step;
  return `${batches === undefined ? 'step' : 'batch'} ${steps > 0 ? `${made}/${steps}` : String(made)}`;
}

const titleOf = (snapshot: Snapshot): string =>
  snapshot.run === '' ? 'serving existing runs, without training' : `run ${snapshot.run}   ${timesOf(snapshot)}`;

function timesOf({ elapsedMs, remainingMs }: Snapshot): string {
  return `${duration(elapsedMs)}${remainingMs === undefined ? '' : `, about ${duration(remainingMs)} left`}`;
}

/** For example 4:05 and 1:04:05. */
function duration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function figuresOf(snapshot: Snapshot): readonly string[] {
  if (snapshot.run === '') return [`  lag ${snapshot.lag}`];
  const { rewardMean, stalenessMean, stalenessMax, turnsPerSecond, lag, versions } = snapshot;
  return [
    `  ${stepOf(snapshot)}   reward ${number(rewardMean, 3)}   staleness mean ${number(stalenessMean, 2)} max ${number(stalenessMax, 0)}`,
    `  turns/s ${number(turnsPerSecond, 0)}   lag ${lag}   policy ${versionsOf(versions)}`,
  ];
}

function versionsOf(versions: Snapshot['versions']): string {
  if (versions === undefined) return '–';
  const [oldest, newest] = versions;
  return oldest === newest ? String(newest) : `${oldest}..${newest}`;
}

const serviceOf = ({ name, state, restarts }: ServiceView): string => `${name} ${state}${restarts > 0 ? ` (restarted ${restarts}×)` : ''}`;

function addressLines({ kafkaBrokers, clickhouseUrl, apiUrl, apiPortTaken }: NonNullable<Snapshot['addresses']>): string[] {
  const known = [
    kafkaBrokers.length > 0 ? `Kafka ${kafkaBrokers.join(',')}` : '',
    clickhouseUrl === '' ? '' : `ClickHouse ${withoutSecrets(clickhouseUrl)}`,
    apiUrl === '' ? '' : `API ${apiUrl}${takenText(apiPortTaken)}`,
  ].filter((text) => text !== '');
  return known.length === 0 ? [] : [`  ${known.join('   ')}`];
}

const cut = (line: string, columns: number): string => (line.length <= columns ? line : `${line.slice(0, Math.max(0, columns - 1))}…`);

/** The numbers of a JSON line. */
export const progressFields = (snapshot: Snapshot): Readonly<Record<string, unknown>> => ({
  run: snapshot.run,
  phase: snapshot.phase,
  step: snapshot.step,
  steps: snapshot.steps,
  ...(snapshot.batches === undefined ? {} : { batches: snapshot.batches }),
  reward_mean: finite(snapshot.rewardMean),
  staleness_mean: finite(snapshot.stalenessMean),
  staleness_max: finite(snapshot.stalenessMax),
  turns_per_s: snapshot.turnsPerSecond,
  lag: snapshot.lag,
  versions: snapshot.versions ?? null,
  elapsed_s: Math.round(snapshot.elapsedMs / 1_000),
  remaining_s: snapshot.remainingMs === undefined ? null : Math.round(snapshot.remainingMs / 1_000),
  restarts: snapshot.services.reduce((sum, { restarts }) => sum + restarts, 0),
});

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
