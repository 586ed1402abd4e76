import { writeFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { PlatformError } from '../../../streams/core/errors.ts';
import { loadConfig } from '../../config/load.ts';
import { listenForInterrupts } from '../../lifecycle/interrupts.ts';
import { commandLogger } from '../command-logger.ts';
import type { CommandContext } from '../context.ts';
import { datasetSlug, examples, wholeIn } from '../options.ts';
import { createProgressLine } from '../views/progress-line.ts';
import { renderSynthesis } from './synthesis-view.ts';
import { assertReadable } from './options.ts';

interface SynthesizeFlags {
  readonly from: 'factbook';
  readonly writer: 'factbook' | 'llm';
  readonly seedPath?: string;
  readonly split: 'train' | 'heldout';
  readonly concurrency?: number | undefined;
  readonly injectRounds: number;
  readonly fuzzRounds: number;
  readonly count: number;
  readonly variants: number;
  readonly seed: number;
  readonly tries: number;
  readonly directSamples: number;
  readonly maxDirectShare: number;
  readonly confirmSamples?: number | undefined;
  readonly reviewShare: number;
  readonly dataset: string;
  readonly output?: string;
  readonly report?: string;
  readonly log: boolean;
  readonly json: boolean;
}

function share(raw: string): number {
  const value = Number(raw);
  if (raw.trim() === '' || !(value >= 0 && value <= 1)) throw new InvalidArgumentError('It must be a number in 0..1.');
  return value;
}

const HELP = `
Each seed question grows in rounds: an injection replaces an entity with a fact about it, and a fuzz makes a detail less exact.
Every candidate passes the gates well_formed, timely, new_information, every_clause_needed, unique_answer, and split_disjoint;
each final question also passes difficulty and not_a_duplicate. Accepted and rejected candidates are events on the topic
questions, with their full history, and rows of the table questions.

--writer factbook needs no model. It grows questions about one field of one country, and the same seed gives the same questions.
--writer llm grows any questions. The model at TURNSTREAM_SYNTHESIS_URL chooses the rounds and writes, with facts that the
tools of TURNSTREAM_TOOLS find; the model at TURNSTREAM_SYNTHESIS_CHECK_URL answers without tools and judges at the gates.
If a server stays down, the command keeps what was accepted and exits with 1.
`;

/** `turnstream questions synthesize`: grows harder questions from seed questions. */
export function synthesizeCommand(context: CommandContext): Command {
  return new Command('synthesize')
    .description('make seed questions harder in rounds of injection and fuzzing, with quality gates')
    .addOption(new Option('--from <source>', 'source of the seed questions').choices(['factbook']).default('factbook'))
    .addOption(new Option('--seed-path <file>', 'JSON Lines file of seed questions, in the format of questions import').conflicts('from'))
    .addOption(new Option('--split <split>', 'split of the questions of --seed-path').choices(['train', 'heldout']).default('train'))
    .addOption(new Option('--writer <writer>', 'what rewrites the questions').choices(['factbook', 'llm']).default('factbook'))
    .option('--concurrency <n>', 'questions that grow concurrently (default: 1 for factbook, 16 for llm)', wholeIn(1, 10_000))
    .option('--inject-rounds <n>', 'maximum injections per question', wholeIn(1, 64), 4)
    .option('--fuzz-rounds <n>', 'maximum fuzzes per question', wholeIn(0, 64), 2)
    .option('--count <n>', 'maximum number of seed questions', wholeIn(1, 1_000_000), 2_000)
    .option('--variants <n>', 'variants to try per seed question', wholeIn(1, 1_000), 4)
    .option('--seed <n>', 'seed of every random choice', wholeIn(0, Number.MAX_SAFE_INTEGER), 1)
    .option('--tries <n>', 'tries per round', wholeIn(1, 1_000), 6)
    .option('--direct-samples <n>', 'answers without tools per candidate', wholeIn(1, 1_000), 8)
    .option('--max-direct-share <share>', 'maximum share of those answers that may be correct', share, 0.125)
    .option(
      '--confirm-samples <n>',
      'new answers without tools per final question (default: 128 for factbook, 0 for llm)',
      wholeIn(0, 10_000),
    )
    .option('--review-share <share>', 'share of accepted questions to draw for human review', share, 0.05)
    .option('--dataset <dataset>', 'name of the question set', datasetSlug, 'synthetic')
    .option('--output <file>', 'file for the accepted questions, as JSON Lines')
    .option('--report <file>', 'file for the report, as JSON')
    .option('--no-log', 'write nothing to the log; needs --output')
    .option('--json', 'print the report as JSON', false)
    .addHelpText('after', HELP)
    .addHelpText(
      'after',
      examples(
        'turnstream questions synthesize --from factbook --inject-rounds 4 --fuzz-rounds 2 --output questions.jsonl',
        'turnstream questions synthesize --writer llm --seed-path seeds.jsonl --dataset mine --output mine.jsonl',
        'turnstream questions synthesize --count 100 --no-log --output few.jsonl && turnstream questions check few.jsonl',
        'turnstream up --dataset synthetic',
      ),
    )
    .action(async (flags: SynthesizeFlags) => {
      await run(context, flags);
    });
}

/** Closed-book answers from the factbook cost almost nothing. */
const CONFIRMED = 128;

/** A model's walks spend most of their time waiting for its server. */
const LLM_WALKS = 16;

const paceOf = (writer: 'factbook' | 'llm', { confirmSamples, concurrency }: Pick<SynthesizeFlags, 'confirmSamples' | 'concurrency'>) => ({
  confirmSamples: confirmSamples ?? (writer === 'llm' ? 0 : CONFIRMED),
  concurrency: concurrency ?? (writer === 'llm' ? LLM_WALKS : 1),
});

async function run(context: CommandContext, flags: SynthesizeFlags): Promise<void> {
  const config = loadConfig(context.env);
  const { output, report: reportFile, log, json, from: _source, writer, seedPath, split, concurrency, confirmSamples, ...settings } = flags;
  if (!log && output === undefined) throw new PlatformError('USAGE_INVALID', 'making questions: --no-log needs --output');
  if (seedPath !== undefined) assertReadable('making questions', seedPath);
  const { synthesizeFromFactbook, synthesizeWithModels } = await import('./synthesis.ts');
  const interrupts = listenForInterrupts({ onSecond: () => process.exit(130), now: () => performance.now() });
  const line = createProgressLine(process.stderr);
  try {
    const report = await (writer === 'llm' ? synthesizeWithModels : synthesizeFromFactbook)({
      ...{ config, logger: commandLogger(context), output, log, seedPath, split },
      settings: {
        ...settings,
        ...paceOf(writer, { confirmSamples, concurrency }),
        signal: interrupts.signal,
        onProgress: ({ walks, accepted, rejected }) => {
          line.show(`${walks} walks, ${accepted} accepted, ${rejected} rejected`);
        },
      },
    });
    line.end();
    if (reportFile !== undefined) writeFileSync(reportFile, `${JSON.stringify(report, null, 2)}\n`);
    context.out(json ? `${JSON.stringify(report)}\n` : renderSynthesis(report));
    if (interrupts.signal.aborted) context.exit(130);
  } finally {
    line.end();
    interrupts.close();
  }
}
