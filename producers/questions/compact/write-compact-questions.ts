// The question generator of the compact recipe: it decomposes a seed question, looks up the parts with the agents' tools (at most five
// searches and two pages), and combines the findings into a description that replaces the country's name. The facts decide uniqueness, and
// the gates are those of the factbook writer. No clock; all randomness comes from the seed.
import type { Edit, Gate, QuestionAccepted, QuestionRejected } from '../../../schemas/generated/events.ts';
import type { Tool } from '../../../streams/core/agents.ts';
import { createRandom } from '../../../streams/core/random.ts';
import { createFactbookTools } from '../../factbook/tools.ts';
import { fieldOf } from '../../factbook/profiles.ts';
import { questionIdOf } from '../question-id.ts';
import { describe } from '../synthesis/description.ts';
import { createFactbookWriter } from '../synthesis/factbook-writer.ts';
import type { FactbookState } from '../synthesis/factbook-gates.ts';
import type { Draft, QuestionWriter } from '../synthesis/port.ts';
import { combine } from './combine.ts';
import { decompose } from './decompose.ts';
import { MAX_PAGES, MAX_SEARCHES, searchFacts } from './search-facts.ts';
import type { FactSearch, Researching } from './search-facts.ts';
import { unasked } from '../unasked.ts';
import type { QuestionSplit } from '../write-questions.ts';

/** Name of the question set, in events and configuration. */
export const COMPACT_DATASET = 'compact';

export interface CompactOptions {
  /** UTC microseconds; used in every event. */
  readonly occurredAt: number;
  readonly producer: string;
  /** Questions wanted per split. */
  readonly quota?: Readonly<Record<QuestionSplit, number>>;
  /** Maximum number of rejected candidates to report. */
  readonly maxRejected?: number;
  /** The factbook tools by default. */
  readonly tools?: readonly Tool[];
}

export interface CompactQuestions {
  readonly accepted: readonly QuestionAccepted[];
  readonly rejected: readonly QuestionRejected[];
}
type CompactDraft = Draft<FactbookState>;

/** More than the number of seed questions. */
const ALL_SEEDS = 1_000_000;
const quotas = { train: 480, heldout: 120 };

/** A seed question with the draft made from it. */
interface CompactCandidate {
  readonly seed: CompactDraft;
  readonly draft: CompactDraft;
  readonly found: FactSearch;
  readonly combined: boolean;
}

async function grow(seed: CompactDraft, researching: Researching): Promise<CompactCandidate> {
  const { end, ask } = seed.state;
  const found = await searchFacts(end, decompose(end, ask.label, researching.random), researching);
  const combined = combine(end, found.clauses);
  const clauses = combined ?? found.clauses;
  if (clauses.length === 0) return { seed, draft: seed, found, combined: false };
  const description = { kind: 'clauses', clauses } as const;
  const draft = { ...seed, state: { ...seed.state, description }, question: ask.ask(describe(description)) };
  return { seed, draft, found, combined: combined !== undefined };
}

function combinedGate({ found, combined }: CompactCandidate): Gate {
  const { searches, pages, clauses } = found;
  const looked = `${searches.length} of ${MAX_SEARCHES} searches and ${pages.length} of ${MAX_PAGES} pages`;
  const detail = `${clauses.length} facts in ${looked} ${combined ? 'are together' : 'are not'} enough`;
  return { gate: 'combined', passed: combined, detail };
}

/** Rejects an answer that is cut where the field continues: an apostrophe typed as a quotation mark does not end a name. */
function wholeAnswerGate({ draft }: CompactCandidate): Gate {
  const { ask, end } = draft.state;
  const text = fieldOf(end, ask.label) ?? '';
  const cut = draft.answers.filter((answer) => /^"\p{L}/u.test(text.slice(text.indexOf(answer) + answer.length)));
  return { gate: 'whole_answer', passed: cut.length === 0, detail: cut.length === 0 ? 'as the field has it' : `cut: ${cut.join(', ')}` };
}

/** The results of all gates, in a fixed order. */
async function gatesOf(candidate: CompactCandidate, writer: QuestionWriter<FactbookState>): Promise<readonly Gate[]> {
  const { seed, draft } = candidate;
  const { signal } = new AbortController();
  const verdicts = {
    well_formed: await writer.wellFormed(draft, signal),
    timely: await writer.timely(draft, signal),
    new_information: await writer.newInformation(draft, seed, signal),
    every_clause_needed: await writer.everyClauseNeeded(draft, signal),
    unique_answer: await writer.unique(draft, [], signal),
    split_disjoint: await writer.splitDisjoint(draft),
  };
  return [
    combinedGate(candidate),
    wholeAnswerGate(candidate),
    ...Object.entries(verdicts).map(([gate, { passed, detail }]) => ({ gate, passed, detail })),
  ];
}

function historyOf({ seed, draft, found }: CompactCandidate): readonly Edit[] {
  const { ask, end } = seed.state;
  const looked = found.searches.map(({ query, clause }) => `${query} ${clause === undefined ? 'nothing of use' : 'found'}`);
  return [
    { round: 0, action: 'seed', before: '', after: seed.question, detail: `${ask.label} of ${end.title}` },
    { round: 1, action: 'compose', before: seed.question, after: draft.question, detail: looked.join('; ') },
  ];
}

class Writing {
  readonly accepted = new Map<string, QuestionAccepted>();
  readonly rejected = new Map<string, QuestionRejected>();
  readonly #writer: QuestionWriter<FactbookState>;
  readonly #options: CompactOptions;
  readonly #left: Record<QuestionSplit, number>;

  constructor(writer: QuestionWriter<FactbookState>, options: CompactOptions) {
    this.#writer = writer;
    this.#options = options;
    this.#left = { ...(options.quota ?? quotas) };
  }

  wants(split: QuestionSplit): boolean {
    return this.#left[split] > 0;
  }

  get isFull(): boolean {
    return !this.wants('train') && !this.wants('heldout');
  }

  async take(candidate: CompactCandidate): Promise<void> {
    const gates = await gatesOf(candidate, this.#writer);
    const event = this.#eventOf(candidate, gates);
    const failed = gates.filter(({ passed }) => !passed).map(({ gate }) => gate);
    if (failed.length > 0) {
      if (this.rejected.size < (this.#options.maxRejected ?? 200)) {
        this.rejected.set(event.question_id, { ...event, reason: failed.join(', ') });
      }
    } else if (!this.accepted.has(event.question_id)) {
      this.accepted.set(event.question_id, event);
      this.#left[candidate.seed.split] -= 1;
    }
  }

  #eventOf(candidate: CompactCandidate, gates: readonly Gate[]): QuestionAccepted {
    const { draft } = candidate;
    const { description } = draft.state;
    const id = questionIdOf(COMPACT_DATASET, draft.question);
    return {
      event_id: `questions/${COMPACT_DATASET}/${id}`,
      run_id: '',
      occurred_at: this.#options.occurredAt,
      producer: this.#options.producer,
      question_id: id,
      dataset: COMPACT_DATASET,
      split: draft.split,
      question: draft.question,
      answers: draft.answers,
      aug_answers: [],
      hops: this.#writer.hops(draft),
      kind: `combined${description.kind === 'clauses' ? description.clauses.length : 0}>${this.#writer.kind(draft)}`,
      evidence: this.#writer.evidence(draft),
      gates,
      history: historyOf(candidate),
      ...unasked,
    };
  }
}

/** Writes the question set for a seed: the same seed gives the same questions, gates and ids. */
export async function writeCompactQuestions(seed: number, options: CompactOptions): Promise<CompactQuestions> {
  const tools = options.tools ?? createFactbookTools();
  const toolOf = (wanted: Tool['name']): Tool => {
    const tool = tools.find(({ name }) => name === wanted);
    if (tool === undefined) throw new Error(`there is no ${wanted} tool`);
    return tool;
  };
  const { signal } = new AbortController();
  const research = { search: toolOf('search'), access: toolOf('access'), signal };
  const writer = createFactbookWriter();
  const writing = new Writing(writer, options);
  let index = 0;
  for await (const draft of writer.seeds(ALL_SEEDS, seed)) {
    index += 1;
    if (writing.isFull) break;
    if (writing.wants(draft.split)) await writing.take(await grow(draft, { ...research, random: createRandom(seed, index) }));
  }
  return { accepted: [...writing.accepted.values()], rejected: [...writing.rejected.values()] };
}
