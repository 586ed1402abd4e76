// Writes two-hop and three-hop questions from the factbook. The same seed gives the same questions, gates and ids.
import type { Evidence, Edit, QuestionAccepted, QuestionRejected } from '../../schemas/generated/events.ts';
import { createRandom } from '../../streams/core/random.ts';
import { heldOut } from '../../streams/questions/order.ts';
import { fieldOf } from '../factbook/profiles.ts';
import { valuesOf } from './attributes.ts';
import { allChains, countries, describeEnd } from './chains.ts';
import type { Chain } from './chains.ts';
import { judge } from './gates.ts';
import type { ChainCandidate } from './gates.ts';
import { questionIdOf } from './question-id.ts';
import { unasked } from './unasked.ts';

export interface WriteQuestionsOptions {
  /** UTC microseconds; used in every event. */
  readonly occurredAt: number;
  readonly producer: string;
  /** Questions wanted of each kind; fewer when not enough pass the gates. */
  readonly quota?: Readonly<Record<QuestionSplit, Readonly<Record<'twoHop' | 'threeHop', number>>>>;
  /** Maximum number of rejected candidates to report. */
  readonly maxRejected?: number;
}

export type QuestionSplit = 'train' | 'heldout';

export interface WrittenQuestions {
  readonly accepted: readonly QuestionAccepted[];
  readonly rejected: readonly QuestionRejected[];
}

/** Name of the question set, in events and configuration. */
export const FACTBOOK_DATASET = 'factbook';
const HELD_OUT_SHARE = 0.2;
const quotas = { train: { twoHop: 1_120, threeHop: 480 }, heldout: { twoHop: 280, threeHop: 120 } };

function shuffle<T>(items: readonly T[], random: () => number): T[] {
  const shuffled = [...items];
  for (let at = shuffled.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    const [a, b] = [shuffled[at], shuffled[other]];
    if (a !== undefined && b !== undefined) [shuffled[at], shuffled[other]] = [b, a];
  }
  return shuffled;
}

function toCandidate(chain: Chain): ChainCandidate | undefined {
  const identifiers = valuesOf(chain.start, chain.identify);
  const answers = valuesOf(chain.end, chain.ask);
  const [identifier] = identifiers;
  if (identifier === undefined || answers.length === 0) return undefined;
  return { chain, identifiers, answers, question: chain.ask.ask(describeEnd(chain, identifier)) };
}

function evidenceOf({ start, identify, relation, end, ask }: Chain): Evidence[] {
  const fact = (profile: Chain['start'], label: string): Evidence => ({
    url: profile.url,
    title: profile.title,
    fact: `${label}: ${fieldOf(profile, label) ?? ''}`,
  });
  const border = relation === undefined ? [] : [fact(start, 'Land boundaries, border countries')];
  return [fact(start, identify.label), ...border, fact(end, ask.label)];
}

/** The question's history: first it names the country, then each hop replaces the name with a description. */
function historyOf({ chain, question, identifiers }: ChainCandidate): Edit[] {
  const named = chain.ask.ask(chain.end.title);
  const seed: Edit = { round: 0, action: 'seed', before: '', after: named, detail: `${chain.ask.label} of ${chain.end.title}` };
  const fuzz = `${chain.start.title} becomes its ${chain.identify.label}, ${identifiers[0] ?? ''}`;
  if (chain.relation === undefined) return [seed, { round: 1, action: 'fuzz', before: named, after: question, detail: fuzz }];
  const { kind, km } = chain.relation;
  const start = `the country ${chain.identify.identify(identifiers[0] ?? '')}`;
  const injected = question.replace(start, () => chain.start.title);
  return [
    seed,
    { round: 1, action: 'inject', before: named, after: injected, detail: `${chain.end.title} by its ${kind} (${km} km)` },
    { round: 2, action: 'fuzz', before: injected, after: question, detail: fuzz },
  ];
}

type WrittenQuestion = { readonly event: QuestionAccepted; readonly failed: readonly string[] };

function write(
  candidate: ChainCandidate,
  heldOutCodes: ReadonlySet<string>,
  { occurredAt, producer }: WriteQuestionsOptions,
): WrittenQuestion {
  const { chain, question, answers, identifiers } = candidate;
  const gates = judge(candidate, heldOutCodes);
  const id = questionIdOf(FACTBOOK_DATASET, question);
  return {
    failed: gates.filter((gate) => !gate.passed).map((gate) => gate.gate),
    event: {
      event_id: `questions/${FACTBOOK_DATASET}/${id}`,
      run_id: '',
      occurred_at: occurredAt,
      producer,
      question_id: id,
      dataset: FACTBOOK_DATASET,
      split: heldOutCodes.has(chain.end.code) ? 'heldout' : 'train',
      question,
      answers,
      aug_answers: [],
      hops: chain.relation === undefined ? 2 : 3,
      kind: [chain.identify.key, ...(chain.relation === undefined ? [] : [chain.relation.kind]), chain.ask.key].join('>'),
      evidence: evidenceOf(chain),
      gates,
      history: historyOf({ chain, question, answers, identifiers }),
      ...unasked,
    },
  };
}

/** Countries whose questions are held out. */
const heldOutCountries = (seed: number): ReadonlySet<string> =>
  heldOut(
    seed,
    countries().map(({ code }) => code),
    HELD_OUT_SHARE,
  );

const kindOf = (chain: Chain): 'twoHop' | 'threeHop' => (chain.relation === undefined ? 'twoHop' : 'threeHop');

/** Writes the question set for a seed: accepted ones by split and hops up to their quota, and the first rejected ones. */
export function writeFactbookQuestions(seed: number, options: WriteQuestionsOptions): WrittenQuestions {
  const { quota = quotas, maxRejected = 200 } = options;
  const heldOutCodes = heldOutCountries(seed);
  const left = { train: { ...quota.train }, heldout: { ...quota.heldout } };
  const accepted = new Map<string, QuestionAccepted>();
  const rejected = new Map<string, QuestionRejected>();
  /** True when the candidate became a new question. */
  const admit = (candidate: ChainCandidate): boolean => {
    const { event, failed } = write(candidate, heldOutCodes, options);
    if (failed.length > 0) {
      if (rejected.size < maxRejected) rejected.set(event.question_id, { ...event, reason: failed.join(', ') });
      return false;
    }
    const isNew = !accepted.has(event.question_id);
    accepted.set(event.question_id, event);
    return isNew;
  };
  for (const chain of shuffle(allChains(), createRandom(seed))) {
    const room = left[heldOutCodes.has(chain.end.code) ? 'heldout' : 'train'];
    const candidate = room[kindOf(chain)] > 0 ? toCandidate(chain) : undefined;
    if (candidate !== undefined && admit(candidate)) room[kindOf(chain)] -= 1;
  }
  return { accepted: [...accepted.values()], rejected: [...rejected.values()] };
}
