// The report of a synthesis: what was generated, how many candidates each gate passed, how hard the accepted questions are.
import type { Gate } from '../../../schemas/generated/events.ts';

interface GateCount {
  readonly gate: string;
  readonly asked: number;
  readonly passed: number;
  readonly refused: number;
}

export interface CountSpread {
  readonly mean: number;
  /** How many questions have 0, 1, 2, … of it. */
  readonly counts: readonly number[];
}

export interface SynthesisReport {
  readonly writer: string;
  readonly dataset: string;
  readonly seed: number;
  readonly seeds: number;
  readonly walks: number;
  readonly candidates: number;
  readonly accepted: number;
  readonly rejected: number;
  /** Accepted questions that await human review. */
  readonly sampledForReview: number;
  readonly splits: Readonly<Record<string, number>>;
  /** Lookups of the accepted questions, none of which can be skipped. */
  readonly hops: CountSpread;
  /** Clauses of the accepted questions, each of which is needed. */
  readonly clauses: CountSpread;
  readonly injections: CountSpread;
  readonly fuzzes: CountSpread;
  readonly gates: readonly GateCount[];
  /** Correct closed-book answers of the accepted questions, out of `directSamples`. */
  readonly directRight: CountSpread;
  /** Closed-book answers per question. */
  readonly directSamples: number;
  /**
   * Share of correct closed-book answers of every question that reached its last gate, including too easy ones: how many are in [0, 0.1),
   * [0.1, 0.2), … [0.9, 1].
   */
  readonly directShares: readonly number[];
  readonly seconds: number;
}

interface CountedQuestion {
  readonly split: string;
  readonly hops: number;
  readonly clauses: number;
  readonly injections: number;
  readonly fuzzes: number;
  readonly directRight: number;
}

function spreadOf(values: readonly number[]): CountSpread {
  const counts = Array.from({ length: Math.max(0, ...values) + 1 }, () => 0);
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  const sum = values.reduce((total, value) => total + value, 0);
  return { mean: values.length === 0 ? 0 : sum / values.length, counts: values.length === 0 ? [] : counts };
}

export interface SynthesisTally {
  /** Counts the result of a gate. */
  gate(gate: Gate): void;
  accept(question: CountedQuestion, sampled: boolean): void;
  /** Counts a question whose difficulty was rated, whether or not it was accepted. */
  rated(question: { readonly directRight: number; readonly directAsked: number }): void;
  reject(): void;
  report(rest: Pick<SynthesisReport, 'writer' | 'dataset' | 'seed' | 'seeds' | 'walks' | 'directSamples' | 'seconds'>): SynthesisReport;
}

/** An empty tally. */
export function createAccount(): SynthesisTally {
  const gates = new Map<string, { asked: number; passed: number }>();
  const accepted: CountedQuestion[] = [];
  const directShares = Array.from({ length: 10 }, () => 0);
  let [rejected, sampledForReview] = [0, 0];
  return {
    gate({ gate, passed }) {
      const count = gates.get(gate) ?? { asked: 0, passed: 0 };
      count.asked += 1;
      count.passed += Number(passed);
      gates.set(gate, count);
    },
    accept(question, sampled) {
      accepted.push(question);
      sampledForReview += Number(sampled);
    },
    rated({ directRight, directAsked }) {
      const tenth = Math.min(9, Math.floor((10 * directRight) / directAsked));
      directShares[tenth] = (directShares[tenth] ?? 0) + 1;
    },
    reject() {
      rejected += 1;
    },
    report(rest) {
      const splits: Record<string, number> = {};
      for (const { split } of accepted) splits[split] = (splits[split] ?? 0) + 1;
      return {
        ...rest,
        candidates: accepted.length + rejected,
        accepted: accepted.length,
        rejected,
        sampledForReview,
        splits,
        hops: spreadOf(accepted.map(({ hops }) => hops)),
        clauses: spreadOf(accepted.map(({ clauses }) => clauses)),
        injections: spreadOf(accepted.map(({ injections }) => injections)),
        fuzzes: spreadOf(accepted.map(({ fuzzes }) => fuzzes)),
        gates: [...gates].map(([gate, { asked, passed }]) => ({ gate, asked, passed, refused: asked - passed })),
        directRight: spreadOf(accepted.map(({ directRight }) => directRight)),
        directShares: [...directShares],
      };
    },
  };
}
