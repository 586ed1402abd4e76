// Question sets for the command line.
import { createReadStream } from 'node:fs';
import { importQuestions, type ImportReport } from '../../../producers/questions/import-questions.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import { eventsOf } from '../../../streams/core/read-log.ts';
import { createQuestionSet, type QuestionSet } from '../../../streams/questions/question-set.ts';
import type { Config } from '../../config/descriptors.ts';
import { topicPlanOf } from '../../kafka/topics/topics.ts';
import { datasetOf } from '../../app/open/built-in-questions.ts';
import { appendAll, ensureQuestions } from '../../app/open/questions.ts';
import { withLog } from '../../app/open/with-log.ts';

/** Writes the built-in set of a recipe and returns its number of questions. */
export const writeSetOf = (recipe: Config['recipe'], config: Config, logger: Logger): Promise<number> =>
  withLog({ config, logger, purpose: 'questions write' }, async ({ kafka, events }) => {
    await kafka.topics.apply(topicPlanOf(config));
    const written = await ensureQuestions({ log: kafka.reader(), events }, () => kafka.writer(), datasetOf[recipe]);
    return written.length;
  });

export interface ImportFile {
  readonly config: Config;
  readonly logger: Logger;
  readonly file: string;
  readonly dataset: string;
  readonly split: 'train' | 'heldout';
  readonly skipBadLines: boolean;
}

/** Imports a JSONL file. Unless bad lines are skipped, one bad line rejects the whole file. */
export const importFile = ({ config, logger, file, dataset, split, skipBadLines }: ImportFile): Promise<ImportReport> =>
  withLog({ config, logger, purpose: 'questions import' }, async ({ kafka }) => {
    await kafka.topics.apply(topicPlanOf(config));
    const writer = await kafka.writer();
    return importQuestions(() => createReadStream(file), {
      ...{ dataset, split, skipBadLines, producer: 'questions import' },
      occurredAt: Date.now() * 1_000,
      accept: (questions) =>
        appendAll(
          writer,
          questions.map((event) => ({ type: 'QuestionAccepted', key: event.question_id, event }) as const),
        ),
    });
  });

export interface SetLine {
  readonly dataset: string;
  readonly split: string;
  readonly questions: number;
}

/** Every set by split, with its number of distinct questions that are accepted and not rejected by a human. */
export const listSets = (config: Config, logger: Logger): Promise<readonly SetLine[]> =>
  withLog({ config, logger, purpose: 'questions list' }, async ({ kafka, events }) => {
    const sets = new Map<string, QuestionSet<string>>();
    for await (const read of eventsOf({ log: kafka.reader(), events }, 'questions')) {
      if (!read.ok || (read.value.type !== 'QuestionAccepted' && read.value.type !== 'QuestionRejected')) continue;
      const { dataset } = read.value.event;
      const set = sets.get(dataset) ?? createQuestionSet(dataset, ({ split }) => split);
      set.fold(read.value);
      sets.set(dataset, set);
    }
    return [...sets].flatMap(([dataset, set]) => linesOf(dataset, set)).sort((a, b) => (lineKey(a) < lineKey(b) ? -1 : 1));
  });

const lineKey = ({ dataset, split }: SetLine): string => JSON.stringify([dataset, split]);

function linesOf(dataset: string, set: QuestionSet<string>): readonly SetLine[] {
  const current = set.current();
  return [...new Set(set.all())].map((split) => ({ dataset, split, questions: current.filter((one) => one === split).length }));
}
