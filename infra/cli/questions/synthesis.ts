// Question synthesis for the command line. Candidates go to the log as they are made; accepted ones also go to a file.
import { open, type FileHandle } from 'node:fs/promises';
import { createLlmWriter } from '../../../producers/questions/synthesis/llm/llm-writer.ts';
import { createFactbookWriter } from '../../../producers/questions/synthesis/factbook-writer.ts';
import type { QuestionWriter } from '../../../producers/questions/synthesis/port.ts';
import type { SynthesisReport } from '../../../producers/questions/synthesis/report.ts';
import { synthesize, type SynthesizedQuestions, type SynthesisOptions } from '../../../producers/questions/synthesis/synthesize.ts';
import type { QuestionAccepted } from '../../../schemas/generated/events.ts';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import type { EventWriter, Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { topicPlanOf } from '../../kafka/topics/topics.ts';
import { appendAll } from '../../app/open/questions.ts';
import { openWriterModels } from './synthesis-models.ts';
import { factbookSeeds, readSeeds } from './synthesis-seeds.ts';
import { toolsOf } from '../../app/roles/worker/tools-of.ts';
import { withLog } from '../../app/open/with-log.ts';

type SynthesisSettings = Pick<
  SynthesisOptions,
  | 'injectRounds'
  | 'fuzzRounds'
  | 'tries'
  | 'directSamples'
  | 'maxDirectShare'
  | 'confirmSamples'
  | 'dataset'
  | 'seed'
  | 'count'
  | 'variants'
  | 'concurrency'
  | 'reviewShare'
  | 'signal'
> & { readonly onProgress: NonNullable<SynthesisOptions['onProgress']> };

export interface SynthesisJob {
  readonly config: Config;
  readonly logger: Logger;
  readonly settings: SynthesisSettings;
  /** Path for the accepted questions, one JSON object per line; undefined writes no file. */
  readonly output: string | undefined;
  /** Writes every candidate to the log. */
  readonly log: boolean;
  /** Path of the seed questions, one JSON object per line; undefined uses the factbook's. */
  readonly seedPath: string | undefined;
  /** Split of the questions in `seedPath`, when the writer does not decide it. */
  readonly split: 'train' | 'heldout';
}

const actionsOf = (event: QuestionAccepted, action: string): number => event.history.filter((edit) => edit.action === action).length;

/** A question as a line of the file: the columns that an import reads, and its provenance. */
const questionLine = (event: QuestionAccepted): string =>
  `${JSON.stringify({
    id: event.question_id,
    question: event.question,
    answer: event.answers,
    split: event.split,
    hops: event.hops,
    kind: event.kind,
    injections: actionsOf(event, 'inject'),
    fuzzes: actionsOf(event, 'fuzz'),
    closed_book: `${event.closed_book_right}/${event.closed_book_asked}`,
    evidence: event.evidence,
    gates: event.gates,
    history: event.history,
  })}\n`;

async function opened(path: string): Promise<FileHandle> {
  return open(path, 'w').catch((cause: unknown) => {
    throw new PlatformError('USAGE_INVALID', `writing questions to ${path}: ${messageOf(cause)}`, { cause });
  });
}

async function writeLines(file: FileHandle | undefined, events: readonly QuestionAccepted[]): Promise<void> {
  if (events.length > 0) await file?.appendFile(events.map(questionLine).join(''));
}

const PORTION = 500;

/** Collects events into requests of a useful size. */
function portions(writer: EventWriter | undefined): { take(made: SynthesizedQuestions): Promise<void>; flush(): Promise<void> } {
  let gathered: Parameters<typeof appendAll>[1][number][] = [];
  const flush = async (): Promise<void> => {
    const events = gathered;
    gathered = [];
    if (writer !== undefined) await appendAll(writer, events);
  };
  return {
    flush,
    async take({ accepted, rejected }) {
      for (const event of accepted) gathered.push({ type: 'QuestionAccepted', key: event.question_id, event });
      for (const event of rejected) gathered.push({ type: 'QuestionRejected', key: event.question_id, event });
      if (gathered.length >= PORTION) await flush();
    },
  };
}

async function runInto<S>(job: SynthesisJob, questions: QuestionWriter<S>, events: EventWriter | undefined): Promise<SynthesisReport> {
  const file = job.output === undefined ? undefined : await opened(job.output);
  const log = portions(events);
  try {
    return await synthesize(questions, {
      ...job.settings,
      occurredAt: Date.now() * 1_000,
      producer: `questions synthesize (${questions.name})`,
      now: () => performance.now(),
      async take(made) {
        await log.take(made);
        await writeLines(file, made.accepted);
      },
    });
  } finally {
    // also after a failure: candidates made so far are kept
    await log.flush().finally(() => file?.close());
  }
}

/** Runs a synthesis with a writer, with or without a log. */
async function synthesizeWith<S>(job: SynthesisJob, questions: QuestionWriter<S>): Promise<SynthesisReport> {
  const { config, logger } = job;
  if (!job.log) return runInto(job, questions, undefined);
  return withLog({ config, logger, purpose: 'questions synthesize' }, async ({ kafka }, found) => {
    await kafka.topics.apply(topicPlanOf(found));
    const writer = await kafka.writer();
    try {
      return await runInto(job, questions, writer);
    } finally {
      await writer.close();
    }
  });
}

/** Makes questions from the factbook, without a model or network. */
export async function synthesizeFromFactbook(job: SynthesisJob): Promise<SynthesisReport> {
  const seeds = job.seedPath === undefined ? undefined : await readSeeds(job.seedPath, job.split);
  return synthesizeWith(job, createFactbookWriter(seeds?.map(({ question }) => question)));
}

/** Language models write and check questions, with facts that the configured tools find. */
export async function synthesizeWithModels(job: SynthesisJob): Promise<SynthesisReport> {
  const { config, logger, seedPath, split, settings } = job;
  const models = openWriterModels(config, logger);
  const tools = await toolsOf(config);
  try {
    const seeds = seedPath === undefined ? factbookSeeds(settings) : await readSeeds(seedPath, split);
    return await synthesizeWith(job, createLlmWriter({ ...models.named, seeds, tools: tools.tools, now: Date.now }));
  } finally {
    models.close();
    await tools.close();
  }
}
