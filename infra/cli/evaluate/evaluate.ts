// `turnstream evaluate` for the command line: starts the services that are not running, evaluates, and reads the answers back.
import type { EvaluationCompleted } from '../../../schemas/generated/events.ts';
import { compareEvaluations, type CompareOptions, type EvaluationComparison } from '../../../streams/evaluation/compare.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { withKnownAddresses } from '../../app/open/addresses.ts';
import { connectLog } from '../../app/open/connections.ts';
import { readServices } from '../../app/open/services-file.ts';
import type { EvaluationData } from '../../app/roles/evaluator/evaluation-data.ts';
import { readEvaluations, type RecordedEvaluation } from '../../app/roles/evaluator/evaluation-records.ts';
import { evaluatorRole, type EvaluatorArguments } from '../../app/roles/evaluator/evaluator.ts';
import { runRole, type RoleHost } from '../../app/roles/role.ts';
import { withLog } from '../../app/open/with-log.ts';
import { withServices } from '../../app/open/services.ts';

/** Concurrent trajectories of a worker that is started for an evaluation. */
const CONCURRENCY = 128;

export interface EvaluateCommand {
  readonly config: Config;
  readonly logger: Logger;
  /** Process name in logs and metrics. */
  readonly name: string;
  readonly arguments: Omit<EvaluatorArguments, 'onCompleted' | 'stores' | 'data' | 'concurrency'>;
  readonly data: readonly EvaluationData[] | undefined;
  /**
   * Concurrent trajectories of its own worker. Undefined: its own worker if there are files or the run is not active, else the workers of
   * the run.
   */
  readonly concurrency: number | undefined;
  readonly host?: RoleHost | undefined;
}

export interface EvaluateResult {
  readonly code: number;
  readonly completed: readonly EvaluationCompleted[];
  /** In the same order as `completed`. */
  readonly recorded: readonly RecordedEvaluation[];
}

/** Evaluates and reads back what was recorded. Services that are not running are started for the duration of the command. */
export function evaluateAs(command: EvaluateCommand): Promise<EvaluateResult> {
  const { config, logger, name, data } = command;
  const alone = withKnownAddresses(config).kafkaBrokers.length === 0;
  const running = readServices(config.dataDir);
  // somebody else's services may have workers of the run
  const hasWorkers = running === undefined ? !alone : running.run === command.arguments.run;
  const concurrency = command.concurrency ?? (hasWorkers && data === undefined ? 0 : CONCURRENCY);
  return withServices({ config, logger, purpose: 'evaluate', needs: { kafka: true, store: alone } }, async (found) => {
    const completed: EvaluationCompleted[] = [];
    const main = evaluatorRole({
      ...command.arguments,
      ...(data === undefined ? {} : { data }),
      concurrency,
      stores: alone,
      onCompleted: (one) => completed.push(one),
    });
    const code = await runRole({ name, config: found, main }, command.host);
    return { code, completed, recorded: await recordedOf(found, logger, completed) };
  });
}

async function recordedOf(
  config: Config,
  logger: Logger,
  completed: readonly EvaluationCompleted[],
): Promise<readonly RecordedEvaluation[]> {
  if (completed.length === 0) return [];
  const log = await connectLog({ config, clientId: 'command', logger });
  try {
    return await readEvaluations(
      log,
      completed.map(({ evaluation_id: id }) => id),
    );
  } finally {
    await log.close();
  }
}

interface EvaluateContext {
  readonly config: Config;
  readonly logger: Logger;
}

/** Reads evaluations from the log. */
export const showEvaluations = ({ config, logger }: EvaluateContext, ids: readonly string[]): Promise<readonly RecordedEvaluation[]> =>
  withLog({ config, logger, purpose: 'evaluate show' }, (log) => readEvaluations(log, ids));

export interface ComparedRecords {
  readonly comparison: EvaluationComparison;
  /** A short description of each evaluation. */
  readonly about: readonly [string, string];
}

/** Compares two recorded evaluations, paired by question. */
export const compareRecorded = (
  reading: EvaluateContext,
  ids: readonly [string, string],
  options: CompareOptions,
): Promise<ComparedRecords> =>
  withLog({ ...reading, purpose: 'evaluate compare' }, async (log) => {
    const [a, b] = await readEvaluations(log, ids);
    const comparison = compareEvaluations(a?.answers ?? [], b?.answers ?? [], options);
    return { comparison, about: [aboutOf(a), aboutOf(b)] };
  });

function aboutOf(recorded: RecordedEvaluation | undefined): string {
  if (recorded === undefined) return '';
  const { dataset, split, samples, policy_version: version } = recorded.started;
  const answers = `${recorded.answers.length} answers, ${samples} a question`;
  return [`${dataset} ${split}`, version < 0 ? '' : `version ${version}`, answers, recorded.complete ? '' : 'incomplete']
    .filter(Boolean)
    .join(', ');
}
