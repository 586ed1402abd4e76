import { writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { EvaluationCompleted } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { byLevel, figuresOf } from '../../../streams/evaluation/figures.ts';
import type { EvaluationData } from '../../app/roles/evaluator/evaluation-data.ts';
import type { RecordedEvaluation } from '../../app/roles/evaluator/evaluation-records.ts';
import type { Config } from '../../config/descriptors.ts';
import { loadConfig } from '../../config/load.ts';
import { commandLogger } from '../command-logger.ts';
import type { CommandContext } from '../context.ts';
import { evaluationFormats, renderEvaluations, takenOverText, type EvaluationFormat, type EvaluationLine } from './evaluation-view.ts';
import { renderComparison } from './comparison-view.ts';
import { datasetSlug, examples, runSlug, wholeIn } from '../options.ts';

interface EvaluateFlags {
  readonly run?: string;
  readonly data?: readonly string[];
  readonly policy: number | Foreign;
  readonly dataset?: string;
  readonly split: 'heldout' | 'train';
  readonly questions?: number;
  readonly samples?: number;
  readonly n?: number;
  readonly concurrency?: number;
  readonly judge: boolean;
  readonly again: boolean;
  readonly skipBadRows: boolean;
  readonly withAttachments: boolean;
  readonly format?: EvaluationFormat;
  readonly out?: string;
  readonly name: string;
}

/** A policy that no run trains. */
type Foreign = 'llm' | 'module';

function policyOf(raw: string): number | Foreign {
  if (raw === 'newest') return -1;
  if (raw === 'llm' || raw === 'module') return raw;
  if (!/^\d{1,9}$/.test(raw)) throw new InvalidArgumentError('It must be a version, newest, llm, or module.');
  return Number(raw);
}

/** The parent command has this option too and consumes it wherever it appears, so the subcommands read it from the parent. */
const formatOption = (): Option => new Option('--format <format>', 'output format').choices([...evaluationFormats]);

const HELP = `
Files are JSON Lines, a JSON array, CSV, TSV, or Parquet, in the published formats of GAIA, xBench-DeepSearch, Frames, HotpotQA,
2WikiMultiHopQA, and NQ, or plain {"question", "answer"}. Questions with an attachment are left out, because the agent cannot
see it. Questions from files are answered by a worker in this process; questions of a set, by the workers of the run.

An interrupted evaluation resumes, and a complete one is not repeated. Recorded answers are reused only while the settings,
the code of modules, the addresses, the weights, and the questions are the same, and the command reports what it reuses.
--again asks every question again. Every answer is in the log and in SQL: evaluation_results, evaluation_scores,
trajectories, and turns.
`;

/** `turnstream evaluate`: answers questions with one policy, on the workers of a run or on a worker of its own. */
export function evaluateCommand(context: CommandContext): Command {
  const command = new Command('evaluate')
    .description('evaluate a policy on held-out questions or benchmark files, and record the scores')
    .option('--run <run>', 'run whose policy answers; not needed with --policy llm or module', runSlug)
    .option('--data <files...>', 'benchmark files; one evaluation each')
    .addOption(
      new Option(
        '--policy <policy>',
        'a version, newest, llm (the language model at TURNSTREAM_LLM_URL), or module (TURNSTREAM_POLICY_MODULE)',
      )
        .argParser(policyOf)
        .default(-1, 'newest'),
    )
    .option('--dataset <dataset>', 'question set (default: the one that the run trains on)', datasetSlug)
    .addOption(new Option('--split <split>', 'split of the question set').choices(['heldout', 'train']).default('heldout'))
    .option(
      '--questions <count>',
      'maximum number of questions, always the same ones (default: TURNSTREAM_EVAL_QUESTIONS for a set, all for a file)',
      wholeIn(1, 1_000_000),
    )
    .option(
      '--samples <count>',
      'samples per question, the k of Avg@k; 1 decodes greedily (default: TURNSTREAM_EVAL_SAMPLES, 4)',
      wholeIn(1, 64),
    )
    .option('--n <count>', 'same as --samples', wholeIn(1, 64))
    .option('--concurrency <count>', 'concurrent trajectories of a separate worker; 0 uses the workers of the run', wholeIn(0, 10_000))
    .option('--judge', 'have the language model at TURNSTREAM_JUDGE_URL judge every answer', false)
    .option('--again', 'ask every question again, even if answers are recorded', false)
    .option('--skip-bad-rows', 'leave out unreadable rows instead of refusing the file', false)
    .option('--with-attachments', 'ask questions with an attachment without it instead of leaving them out', false)
    .addOption(formatOption())
    .option('--out <file>', 'also write the results to a file: JSON for .json, CSV for .csv, else a table')
    .option('--name <name>', 'name of the process in logs and metrics', 'evaluator')
    .addHelpText(
      'after',
      HELP +
        examples(
          'turnstream evaluate --run my-run',
          'turnstream evaluate --run my-run --policy 0 --questions 400',
          'turnstream evaluate --run my-run --data frames.jsonl --n 4 --concurrency 128 --format csv',
          'turnstream evaluate --policy llm --data gaia/test.jsonl xbench.jsonl --n 4 --judge --out result.json',
        ),
    )
    .action(async (flags: EvaluateFlags) => {
      await evaluateWith(context, flags);
    });
  return command.addCommand(showCommand(context)).addCommand(compareCommand(context));
}

async function evaluateWith(context: CommandContext, flags: EvaluateFlags): Promise<void> {
  const { policy } = flags;
  const foreign = typeof policy === 'number' ? undefined : policy;
  const config = loadConfig(context.env, foreign === undefined ? {} : { policy: foreign });
  const { evaluateAs } = await import('./evaluate.ts');
  const run = flags.run ?? (await runOf(foreign, config));
  const tell = (note: string): void => {
    context.err(`${note}\n`);
  };
  const data = await dataOf(flags);
  for (const note of data?.flatMap(({ notes = [] }) => notes) ?? []) tell(note);
  const { code, completed, recorded } = await evaluateAs({
    ...{ config, logger: commandLogger(context), name: flags.name, data, concurrency: flags.concurrency, host: context.host },
    arguments: {
      ...askedOf(flags, config),
      run,
      policy: typeof policy === 'number' ? policy : -1,
      onTakenOver: (taken) => {
        tell(takenOverText(taken));
      },
      onNote: tell,
    },
  });
  context.exit(code);
  if (completed.length === 0) return;
  await show(context, flags, {
    recorded,
    plain: data === undefined ? completed.map((one, at) => withInterval(one, recorded[at])) : undefined,
  });
}

/** The run that evaluations belong to when none is named. */
async function runOf(foreign: Foreign | undefined, config: Config): Promise<string> {
  if (foreign === undefined) throw new PlatformError('USAGE_INVALID', 'evaluating: give --run, or --policy llm or module');
  return (await import('./foreign-run.ts')).runOfModel(config);
}

/** Adds the confidence interval of the headline score to the result. */
function withInterval(completed: EvaluationCompleted, recorded: RecordedEvaluation | undefined) {
  const { low, high } = figuresOf(recorded?.answers ?? []).avgInterval.f1;
  return { ...completed, avg_f1_low: low, avg_f1_high: high };
}

const askedOf = (flags: EvaluateFlags, { evalQuestions, evalSamples }: Config) => {
  const { dataset, split, judge, again, questions = evalQuestions, n = evalSamples, samples = n } = flags;
  return {
    ...(dataset === undefined ? {} : { dataset }),
    ...{ split, judge, again, questions, samples },
  };
};

/** Reads all files before anything starts. */
async function dataOf({
  data: files,
  skipBadRows,
  withAttachments,
  questions,
}: EvaluateFlags): Promise<readonly EvaluationData[] | undefined> {
  if (files === undefined) return undefined;
  const { dataOfFile } = await import('../../app/roles/evaluator/evaluation-data.ts');
  const limit = { skipBadRows, withAttachments, ...(questions === undefined ? {} : { questions }) };
  return Promise.all(files.map((file) => dataOfFile(file, limit)));
}

interface ShownEvaluations {
  readonly recorded: readonly RecordedEvaluation[];
  /** Printed when no format is requested: one JSON object per line. */
  readonly plain?: readonly object[] | undefined;
}

async function show(
  context: CommandContext,
  flags: Pick<EvaluateFlags, 'format' | 'out'>,
  { recorded, plain }: ShownEvaluations,
): Promise<void> {
  const lines = recorded.map(lineOf);
  const { format, out } = flags;
  if (out !== undefined) {
    const suffix = evaluationFormats.find((known) => out.endsWith(`.${known}`)) ?? 'table';
    await writeFile(out, renderEvaluations(lines, suffix));
  }
  // a supervisor reads the log, not this output
  if (context.host === undefined && process.send !== undefined) return;
  if (plain !== undefined && format === undefined) context.out(plain.map((one) => `${JSON.stringify(one)}\n`).join(''));
  else context.out(renderEvaluations(lines, format ?? 'table'));
}

function lineOf({ started, complete, answers }: RecordedEvaluation): EvaluationLine {
  const { evaluation_id, run_id, dataset, split, policy_version, samples } = started;
  const levels = [...byLevel(answers)].map(([level, own]) => ({ level, figures: figuresOf(own) }));
  const left_out = 'left_out' in started ? started.left_out : 0;
  const head = { evaluation_id, run_id, dataset, split, policy_version, samples, complete, left_out };
  return { ...head, figures: figuresOf(answers), levels };
}

function showCommand(context: CommandContext): Command {
  return new Command('show')
    .description('print the results of recorded evaluations, complete or not')
    .argument('<evaluation...>', 'ids of evaluations')
    .addOption(formatOption())
    .option('--out <file>', 'also write the results to a file: JSON for .json, CSV for .csv, else a table')
    .addHelpText('after', examples('turnstream evaluate show my-run-frames-all-v150-sample-n4-0123abcd --format json'))
    .action(async (ids: readonly string[], _own: unknown, command: Command) => {
      const flags: Pick<EvaluateFlags, 'format' | 'out'> = command.optsWithGlobals();
      const { showEvaluations } = await import('./evaluate.ts');
      const recorded = await showEvaluations({ config: loadConfig(context.env), logger: commandLogger(context) }, ids);
      await show(context, flags, { recorded });
    });
}

interface CompareFlags {
  readonly draws: number;
  readonly seed: number;
  readonly format?: EvaluationFormat;
}

const CONFIDENCE = 0.95;

function compareCommand(context: CommandContext): Command {
  return new Command('compare')
    .description('compare two recorded evaluations, paired by question, with 95 % bootstrap intervals')
    .argument('<a>', 'id of an evaluation')
    .argument('<b>', 'id of another evaluation')
    .option('--draws <count>', 'bootstrap resamples', wholeIn(100, 1_000_000), 10_000)
    .option('--seed <seed>', 'seed of the bootstrap', wholeIn(0, Number.MAX_SAFE_INTEGER), 1)
    .addOption(formatOption())
    .addHelpText(
      'after',
      examples('turnstream evaluate compare my-run-factbook-heldout-v0-greedy-n1-0123abcd my-run-factbook-heldout-v150-greedy-n1-0123abcd'),
    )
    .action(async (...[a, b, , command]: readonly [string, string, unknown, Command]) => {
      const flags: CompareFlags = command.optsWithGlobals();
      const { compareRecorded } = await import('./evaluate.ts');
      const reading = { config: loadConfig(context.env), logger: commandLogger(context) };
      const { draws, seed, format = 'table' } = flags;
      const compared = await compareRecorded(reading, [a, b], { draws, seed, confidence: CONFIDENCE });
      context.out(renderComparison({ a, b, ...compared }, format));
    });
}
