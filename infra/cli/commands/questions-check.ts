import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { checkQuestions, type CheckedQuestion, type Distribution } from '../../../producers/questions/check/check-questions.ts';
import { parseQuestionLine } from '../../../producers/questions/question-line.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { CommandContext } from '../context.ts';
import { examples } from '../options.ts';
import { assertReadable } from './questions-options.ts';

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

/** Look-ups that a line says it needs. */
function hopsIn(line: string): number | undefined {
  const { hops } = JSON.parse(line) as { readonly hops?: unknown };
  return typeof hops === 'number' ? hops : undefined;
}

const spread = ({ mean, counts }: Distribution): string =>
  `mean ${mean.toFixed(2)}   ${counts.flatMap((count, value) => (count === 0 ? [] : `${value}: ${count}`)).join('   ')}`;

const HELP = `
Reads each question from its words alone and looks every claim up in the raw files of the factbook, by code that shares
nothing with the writer. A question has to fit one country in every part, also when its clauses are attached otherwise, to
have one answer, to be in the file once, to name the year of what changes with time, and to need every clause: when any one is
left out, places with different answers fit. From that follow the look-ups that cannot be skipped: finding the country that
it begins with, each relation that leads to the next one, and reading the field that is asked for. Exit code 1 when one is
not so, or when a line names other "hops".
`;

/** `turnstream questions check`: whether the questions of the factbook writer hold, by other code than made them. */
export function checkCommand(context: CommandContext): Command {
  return new Command('check')
    .description('check questions of the factbook writer against the facts, by other code than made them')
    .argument('<file>', 'JSON lines as questions synthesize writes them')
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
