import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { checkQuestions, type CheckedQuestion, type CountDistribution } from '../../../producers/questions/check/check-questions.ts';
import { parseQuestionLine } from '../../../producers/questions/question-line.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { CommandContext } from '../context.ts';
import { examples } from '../options.ts';
import { assertReadable } from './options.ts';

const SHOWN = 50;

function questionsIn(file: string): readonly CheckedQuestion[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((text, at) => {
    if (text.trim() === '') return [];
    const parsed = parseQuestionLine(text);
    if (!parsed.ok) throw new PlatformError('QUESTIONS_INVALID', `checking ${file}: line ${at + 1}: ${parsed.problem}`);
    const { id, question, answers } = parsed.value;
    return [{ id: id ?? `line ${at + 1}`, question, answers, hops: hopsIn(text) }];
  });
}

/** The number of lookups that a line says it needs. */
function hopsIn(line: string): number | undefined {
  const { hops } = JSON.parse(line) as { readonly hops?: unknown };
  return typeof hops === 'number' ? hops : undefined;
}

const spread = ({ mean, counts }: CountDistribution): string =>
  `mean ${mean.toFixed(2)}   ${counts.flatMap((count, value) => (count === 0 ? [] : `${value}: ${count}`)).join('   ')}`;

const HELP = `
Parses the text of each question and verifies every claim against the raw factbook files, with code that is independent of
the writer. A question must match exactly one country and have one answer; no other reading of it may lead to another answer.
It must be in the file only once, name the year of facts that change over time, and need every clause: without any one clause,
places with different answers match. The check then counts the look-ups that cannot be skipped: finding the first country,
following each relation to the next one, and reading the requested field. Exits with 1 if a question fails, or if its "hops"
is another number.
`;

/** `turnstream questions check`: verifies questions of the factbook writer with code that is independent of the writer. */
export function checkCommand(context: CommandContext): Command {
  return new Command('check')
    .description('verify the questions of the factbook writer against the facts, with independent code')
    .argument('<file>', 'JSON Lines file from questions synthesize')
    .option('--json', 'print the report as JSON', false)
    .addHelpText('after', HELP)
    .addHelpText('after', examples('turnstream questions check questions.jsonl'))
    .action((file: string, { json }: { readonly json: boolean }) => {
      assertReadable('checking questions', file);
      const report = checkQuestions(questionsIn(file));
      if (json) context.out(`${JSON.stringify(report)}\n`);
      else {
        for (const { id, kind, detail } of report.faults.slice(0, SHOWN)) context.out(`${kind}\t${id}\t${detail}\n`);
        if (report.faults.length > SHOWN) context.out(`and ${report.faults.length - SHOWN} more\n`);
        context.out(`${report.questions} questions, ${report.faults.length} faults\n`);
        context.out(`clauses   ${spread(report.clauses)}\n`);
        context.out(`look-ups  ${spread(report.lookups)}\n`);
      }
      if (report.faults.length > 0) context.exit(1);
      return Promise.resolve();
    });
}
