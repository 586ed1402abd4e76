import { Command, Option } from 'commander';
import { counted } from '../../../streams/run/ending.ts';
import { descriptors, type Config } from '../../config/descriptors.ts';
import { loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { commandLogger } from '../command-logger.ts';
import { datasetSlug, examples } from '../options.ts';
import { checkCommand } from './check-command.ts';
import { assertReadable } from './options.ts';
import { reviewCommand } from './review-command.ts';
import { synthesizeCommand } from './synthesize-command.ts';

interface ImportArguments {
  readonly dataset: string;
  readonly split: 'train' | 'heldout';
  readonly skipBadLines: boolean;
}

const WRITE_HELP = `
asearcher (set factbook): two- and three-hop questions. compact (set compact): the name of a country is replaced with a
description, made of facts that at most five searches and two pages return.
`;

/** `turnstream questions`: manages question sets on the log. */
export function questionsCommand(context: CommandContext): Command {
  const command = new Command('questions').description('write, synthesize, check, review, import, and list question sets');
  command
    .command('write')
    .description('write a built-in question set from the factbook; always the same questions')
    .addOption(new Option('--recipe <recipe>', 'recipe whose questions to write (TURNSTREAM_RECIPE)').choices(descriptors.recipe.choices))
    .addHelpText('after', WRITE_HELP)
    .addHelpText('after', examples('turnstream questions write', 'turnstream questions write --recipe compact'))
    .action(async ({ recipe }: { readonly recipe?: Config['recipe'] }) => {
      const { writeSetOf } = await import('./questions.ts');
      const config = loadConfig(context.env, recipe === undefined ? {} : { recipe });
      const count = await writeSetOf(config.recipe, config, commandLogger(context));
      context.out(`${count} questions\n`);
    });
  command
    .command('import')
    .description('import a JSON Lines file with {"question", "answer": text or list, "aug_answer"?, "id"?} on each line')
    .argument('<file>', 'file to import; it is read twice')
    .requiredOption('--dataset <dataset>', 'name of the question set', datasetSlug)
    .addOption(new Option('--split <split>', 'split of the questions').choices(['train', 'heldout']).default('train'))
    .option('--skip-bad-lines', 'leave out unreadable lines instead of importing nothing', false)
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
      const { importFile } = await import('./questions.ts');
      const { imported, problems, bad } = await importFile({ config, logger: commandLogger(context), file, ...options });
      for (const { line, problem } of problems) context.out(`skipped line ${line}: ${problem}\n`);
      context.out(`${counted(imported, 'question')} imported${bad > 0 ? `, ${counted(bad, 'line')} skipped` : ''}\n`);
    });
  command
    .command('list')
    .description('list question sets with their number of questions by split')
    .addHelpText('after', examples('turnstream questions list'))
    .action(async () => {
      const { listSets } = await import('./questions.ts');
      const sets = await listSets(loadConfig(context.env), commandLogger(context));
      for (const { dataset, split, questions } of sets) context.out(`${dataset}\t${split}\t${questions}\n`);
    });
  for (const make of [synthesizeCommand, checkCommand, reviewCommand]) command.addCommand(make(context));
  return command;
}
