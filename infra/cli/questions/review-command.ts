import { userInfo } from 'node:os';
import { Command } from 'commander';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { ReviewWord } from '../../../streams/questions/reviews.ts';
import { loadConfig } from '../../config/load.ts';
import { commandLogger } from '../command-logger.ts';
import type { CommandContext } from '../context.ts';
import { datasetSlug, examples } from '../options.ts';
import { renderReview, runReviewPrompt } from './review-prompt.ts';

interface ReviewFlags {
  readonly dataset: string;
  readonly list: boolean;
  readonly question?: string;
  readonly accept: boolean;
  readonly reject: boolean;
  readonly comment?: string;
  readonly reviewer: string;
}

function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}

function verdictOf({ accept, reject, comment }: ReviewFlags): ReviewWord {
  if (accept !== reject) return accept ? 'accept' : 'reject';
  if (!accept && comment !== undefined) return 'comment';
  throw new PlatformError('USAGE_INVALID', 'reviewing a question: give one of --accept, --reject and --comment');
}

/** `turnstream questions review`: records human verdicts on sampled questions. */
export function reviewCommand(context: CommandContext): Command {
  return new Command('review')
    .description('accept, reject, or comment on the questions that were drawn for review; verdicts are recorded as events')
    .option('--dataset <dataset>', 'name of the set', datasetSlug, 'synthetic')
    .option('--list', 'only list the questions that wait for review', false)
    .option('--question <id>', 'review this question of the set, drawn or not, without a prompt')
    .option('--accept', 'accept that question', false)
    .option('--reject', 'reject that question', false)
    .option('--comment <text>', 'reason, or a comment alone, which changes no verdict')
    .option('--reviewer <name>', 'name of the reviewer', nameOfUser())
    .addHelpText(
      'after',
      `
From then on, a rejected question is not used for training or evaluation; running trainers leave it out as well.
The last verdict counts.
`,
    )
    .addHelpText(
      'after',
      examples(
        'turnstream questions review',
        'turnstream questions review --list',
        'turnstream questions review --question synthetic-0123456789ab --reject --comment "reads like a form"',
      ),
    )
    .action(async (flags: ReviewFlags) => {
      await run(context, flags);
    });
}

async function run(context: CommandContext, flags: ReviewFlags): Promise<void> {
  const config = loadConfig(context.env);
  const verdict = flags.question === undefined ? undefined : verdictOf(flags);
  const [{ withLog }, { readReviews, reviewedBy, writeReview }] = await Promise.all([
    import('../../app/open/with-log.ts'),
    import('./question-review.ts'),
  ]);
  const logger = commandLogger(context);
  await withLog({ config, logger, purpose: 'questions review' }, async ({ kafka, events }) => {
    const all = await readReviews({ log: kafka.reader(), events }, flags.dataset);
    const drawn = all.filter((reviewed) => reviewed.drawn);
    const waiting = drawn.filter((reviewed) => reviewed.verdict === undefined);
    if (flags.list) {
      for (const reviewed of waiting) context.out(`${reviewed.question.question_id}\n${renderReview(reviewed)}\n`);
      context.out(`${waiting.length} of ${drawn.length} wait for review\n`);
      return;
    }
    const writer = await kafka.writer();
    const note = (said: ReviewWord, comment: string) => ({ verdict: said, comment, reviewer: flags.reviewer, at: Date.now() * 1_000 });
    try {
      if (flags.question !== undefined && verdict !== undefined) {
        await writeReview(writer, reviewedBy(flags.question, all), note(verdict, flags.comment ?? ''));
        context.out(`recorded\n`);
        return;
      }
      const recorded = await runReviewPrompt({
        ...{ input: process.stdin, output: process.stderr, waiting },
        say: (reviewed, said, comment) => writeReview(writer, reviewed, note(said, comment)),
      });
      context.out(`${recorded} recorded\n`);
    } finally {
      await writer.close();
    }
  });
}
