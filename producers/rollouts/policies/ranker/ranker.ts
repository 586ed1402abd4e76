// The built-in policy: it lists the possible actions, scores them with a small network, and samples one. It uses only the question and the
// tool results. Invariant: the policy version of a turn is pinned before its candidates are scored. Between turns it keeps only a cache of
// parsed texts; a crash loses nothing.
import type { BaseCall, DecideOptions, FinalAnswer, Observation, Policy, PolicyTurn } from '../../../../streams/core/agents.ts';
import type { Scorer } from '../../../../streams/core/learning.ts';
import { renderAction } from '../../../../streams/reward/format.ts';
import { candidatesOf } from './candidates.ts';
import type { ActionCandidate } from './candidates.ts';
import { choose } from './choose.ts';
import { RANKER_WIDTH } from './features.ts';
import { readQuestion } from './question.ts';
import type { ParsedQuestion } from './question.ts';
import { standingOf } from './state.ts';
import type { SearchState } from './state.ts';
import { countTokens } from './tokens.ts';
import { createViews } from './view.ts';
import type { Views } from './view.ts';

/** The policy versions that this process can decide with. */
export interface PolicyVersions {
  /** Newest known version. */
  newest(): number;
  /** The scorer of a version, -1 = the newest; returns the actual version. */
  scorer(version: number): Promise<{ readonly version: number; readonly scorer: Scorer }>;
}

interface QuestionViews {
  readonly question: ParsedQuestion;
  readonly views: Views;
}

const MAX_READINGS = 512;

/** Caches the parsed questions, so that the samples of a group share them. */
function createReadings(): (text: string) => QuestionViews {
  const readings = new Map<string, QuestionViews>();
  return (text) => {
    const known = readings.get(text);
    if (known !== undefined) return known;
    const question = readQuestion(text);
    const reading = { question, views: createViews(question) };
    if (readings.size >= MAX_READINGS) readings.clear();
    readings.set(text, reading);
    return reading;
  };
}

function thoughtOf(action: BaseCall | FinalAnswer, standing: SearchState): string {
  const read = standing.read.length;
  const so = `${read} ${read === 1 ? 'page' : 'pages'} read`;
  switch (action.tool) {
    case 'search':
      return `${so}; looking for pages about it.`;
    case 'access':
      return `${so}; this one may say more.`;
    case 'answer':
      return `${so}; this fits what is asked for.`;
  }
}

function featuresOf(candidates: readonly ActionCandidate[]): Float32Array {
  const matrix = new Float32Array(candidates.length * RANKER_WIDTH);
  candidates.forEach((candidate, row) => {
    matrix.set(candidate.row, row * RANKER_WIDTH);
  });
  return matrix;
}

const promptTokens = ({ question, history }: Observation): number =>
  history.reduce((sum, { text, result }) => sum + countTokens(text) + countTokens(result?.text ?? ''), countTokens(question));

function giveUp(observation: Observation, version: number): PolicyTurn {
  const text = '<think>Nothing is left to try.</think>';
  const tokens = countTokens(text);
  return {
    action: undefined,
    text,
    spans: [{ version, tokens }],
    promptTokens: promptTokens(observation),
    completionTokens: tokens,
    finishReason: 'stop',
    decision: undefined,
  };
}

/** A policy that chooses among candidate actions with the scorer of the pinned version. */
export function createRankerPolicy(source: PolicyVersions): Policy {
  const readingOf = createReadings();
  async function decide(observation: Observation, options: DecideOptions): Promise<PolicyTurn> {
    const { version, scorer } = await source.scorer(options.version);
    const { question, views } = readingOf(observation.question);
    const standing = standingOf(observation, question, views);
    const candidates = candidatesOf({ question, standing, turn: observation.turn, maxTurns: observation.maxTurns });
    const features = featuresOf(candidates);
    const chance = options.decoding === 'sample' ? options.random() : undefined;
    const choice = choose(await scorer.score(features, candidates.length), chance);
    const action = candidates[choice.chosen]?.action;
    if (action === undefined) return giveUp(observation, version);
    const text = `<think>${thoughtOf(action, standing)}</think>\n${renderAction(action)}`;
    const tokens = countTokens(text);
    return {
      action,
      text,
      spans: [{ version, tokens }],
      promptTokens: promptTokens(observation),
      completionTokens: tokens,
      finishReason: 'stop',
      decision: { features, candidates: candidates.length, width: RANKER_WIDTH, ...choice },
    };
  }
  return { name: 'ranker', decide };
}
