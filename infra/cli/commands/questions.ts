import { Command, Option } from 'commander';
import { descriptors, type Config } from '../../config/descriptors.ts';
import { loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { commandLogger } from '../command-logger.ts';
import { examples } from '../options.ts';
import { checkCommand } from './questions-check.ts';
import { assertReadable, datasetSlug } from './questions-options.ts';
import { reviewCommand } from './questions-review.ts';
import { synthesizeCommand } from './questions-synthesize.ts';

interface ImportArguments {
  readonly dataset: string;
  readonly split: 'train' | 'heldout';
  readonly skipBadLines: boolean;
}

const WRITE_HELP = `
asearcher (set factbook): questions of two and three hops. compact (set compact): a question about a country is taken apart,
its parts are looked up in at most five searches and two pages, and what was found is combined into a description in place of the name.
`;

/** `turnstream questions`: question sets on the log. */
export function questionsCommand(context: CommandContext): Command {
  const command = new Command('questions').description('write, make, check, review, import and list question sets');
  command
    .command('write')
    .description('write a built-in set out of the factbook; the same each time')
    .addOption(new Option('--recipe <recipe>', 'whose questions (TURNSTREAM_RECIPE)').choices(descriptors.recipe.choices))
    .addHelpText('after', WRITE_HELP)
    .addHelpText('after', examples('turnstream questions write', 'turnstream questions write --recipe compact'))
    .action(async ({ recipe }: { readonly recipe?: Config['recipe'] }) => {
      const { writeSetOf } = await import('../../app/question-commands.ts');
      const config = loadConfig(context.env, recipe === undefined ? {} : { recipe });
      const count = await writeSetOf(config.recipe, config, commandLogger(context));
      context.out(`${count} questions\n`);
    });
  command
    .command('import')
    .description('import a JSONL file: {"question", "answer": text or list, "aug_answer"?, "id"?} a line')
    .argument('<file>', 'the file; it is read twice')
    .requiredOption('--dataset <dataset>', 'name of the set', datasetSlug)
    .addOption(new Option('--split <split>', 'what the questions are for').choices(['train', 'heldout']).default('train'))
    .option('--skip-bad-lines', 'leave bad lines out instead of importing nothing', false)
    .addHelpText(
      'after',
      examples(
        'turnstream questions import train.jsonl --dataset mine',
        'turnstream questions import test.jsonl --dataset mine --split heldout',
        'turnstream up --dataset mine',
      ),
    )
    .action(async (file: string, options: ImportArguments) => {
      const config = loadConfig(context.env);
      assertReadable('importing questions', file);
      const { importFile } = await import('../../app/question-commands.ts');
      const { imported, problems, bad } = await importFile({ config, logger: commandLogger(context), file, ...options });
      for (const { line, problem } of problems) context.out(`left out line ${line}: ${problem}\n`);
      context.out(`${imported} questions imported${bad > 0 ? `, ${bad} lines left out` : ''}\n`);
    });
  command
    .command('list')
    .description('list the sets with the number of their questions by split')
    .addHelpText('after', examples('turnstream questions list'))
    .action(async () => {
      const { listSets } = await import('../../app/question-commands.ts');
      const sets = await listSets(loadConfig(context.env), commandLogger(context));
      for (const { dataset, split, questions } of sets) context.out(`${dataset}\t${split}\t${questions}\n`);
    });
  for (const make of [synthesizeCommand, checkCommand, reviewCommand]) command.addCommand(make(context));
  return command;
}
