// Shows where two runs trained on different data. Pure: compares two outlines. Ids, clocks and run names are ignored; what was requested,
// trained, discarded and published is compared.
import {
  stepFields,
  type AdmissionOutline,
  type DiscardOutline,
  type LedgerOutline,
  type StepField,
  type StepOutline,
  type StepValue,
} from './outline.ts';

interface ComparedPair {
  readonly a: string;
  readonly b: string;
}

/** How many items of one kind were compared; items that only one run has also count as differences. */
export interface DiffCount {
  /** Items that both have. */
  readonly compared: number;
  /** Differing items among those that both have. */
  readonly differing: number;
  readonly onlyA: number;
  readonly onlyB: number;
}

interface Divergence extends ComparedPair {
  readonly kind: 'settings' | 'questions' | 'step' | 'discards';
  /** For a step, its number; otherwise the policy version at the time, -1 before the first. */
  readonly at: number;
  /** A setting, the index of a group in admission order, the fields of a step, or a trajectory. */
  readonly what: string;
}

export interface LedgerDiff {
  /** Nothing differs. */
  readonly same: boolean;
  /** Both have the same number of steps and none differs: they produced the same weights from the same batches. */
  readonly trainedSame: boolean;
  readonly settings: readonly (ComparedPair & { readonly name: string })[];
  readonly questions: DiffCount;
  readonly steps: DiffCount & { readonly equal: number; readonly byField: Readonly<Partial<Record<StepField, number>>> };
  readonly discards: DiffCount;
  /** The first divergence in training order. */
  readonly first: Divergence | undefined;
  /** The first step that both have and that differs. */
  readonly firstStep: { readonly a: StepOutline; readonly b: StepOutline } | undefined;
}

const NOTHING = 'nothing';

interface DiffPart {
  readonly count: DiffCount;
  readonly first: Divergence | undefined;
}

const countsOf = ({ differing, onlyA, onlyB }: DiffCount): number => differing + onlyA + onlyB;

export function diffLedgers(a: LedgerOutline, b: LedgerOutline): LedgerDiff {
  const settings = diffSettings(a.settings, b.settings);
  const questions = diffQuestions(a.admissions, b.admissions);
  const steps = diffSteps(a.steps, b.steps);
  const discards = diffDiscards(a.discards, b.discards);
  const [setting] = settings;
  const start: Divergence | undefined =
    setting === undefined ? undefined : { kind: 'settings', at: -1, what: setting.name, a: setting.a, b: setting.b };
  const firsts = [start, steps.first, questions.first, discards.first].filter((one) => one !== undefined);
  const trainedSame = countsOf(steps.count) === 0;
  return {
    same: firsts.length === 0,
    trainedSame,
    settings,
    questions: questions.count,
    steps: { ...steps.count, equal: steps.count.compared - steps.count.differing, byField: steps.byField },
    discards: discards.count,
    first: firsts.sort((one, other) => placeOf(one) - placeOf(other))[0],
    firstStep: steps.pair,
  };
}

/** Events at version v come after step v and before step v + 1. */
const placeOf = ({ kind, at }: Divergence): number => at + (kind === 'step' || kind === 'settings' ? 0 : 0.5);

function diffSettings(a: LedgerOutline['settings'], b: LedgerOutline['settings']): LedgerDiff['settings'] {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return names.filter((name) => a[name] !== b[name]).map((name) => ({ name, a: a[name] ?? NOTHING, b: b[name] ?? NOTHING }));
}

const admissionText = (one: AdmissionOutline | undefined): string =>
  one === undefined ? NOTHING : `question ${one.questionId}, ${one.samples} samples`;

function diffQuestions(a: readonly AdmissionOutline[], b: readonly AdmissionOutline[]): DiffPart {
  const differs = (i: number): boolean => admissionText(a[i]) !== admissionText(b[i]);
  const all = Array.from({ length: Math.max(a.length, b.length) }, (_, i) => i);
  const at = all.find(differs);
  const compared = Math.min(a.length, b.length);
  return {
    count: { compared, differing: all.filter((i) => i < compared && differs(i)).length, ...surplus(a, b) },
    first:
      at === undefined
        ? undefined
        : {
            kind: 'questions',
            at: earlier(a[at], b[at]),
            what: `group ${at}`,
            a: admissionText(a[at]),
            b: admissionText(b[at]),
          },
  };
}

const surplus = (a: readonly unknown[], b: readonly unknown[]): { readonly onlyA: number; readonly onlyB: number } => ({
  onlyA: Math.max(0, a.length - b.length),
  onlyB: Math.max(0, b.length - a.length),
});

interface Versioned {
  readonly version: number;
}

const earlier = (a: Versioned | undefined, b: Versioned | undefined): number => Math.min(a?.version ?? Infinity, b?.version ?? Infinity);

interface StepsPart extends DiffPart {
  readonly byField: Readonly<Partial<Record<StepField, number>>>;
  readonly pair: LedgerDiff['firstStep'];
}

function diffSteps(a: readonly StepOutline[], b: readonly StepOutline[]): StepsPart {
  const byField: Partial<Record<StepField, number>> = {};
  let differing = 0;
  let pair: LedgerDiff['firstStep'];
  let first: Divergence | undefined;
  for (const [i, own] of a.slice(0, b.length).entries()) {
    const other = b[i] ?? own;
    const fields = stepFields.filter((field) => own.digests[field] !== other.digests[field]);
    for (const field of fields) byField[field] = (byField[field] ?? 0) + 1;
    if (fields.length === 0) continue;
    differing += 1;
    pair ??= { a: own, b: other };
    first ??= { kind: 'step', at: i + 1, what: fields.join(', '), a: 'see below', b: 'see below' };
  }
  const compared = Math.min(a.length, b.length);
  if (a.length !== b.length) {
    const has = (length: number): string => (length > compared ? `trains step ${compared + 1}` : `ends after step ${compared}`);
    first ??= { kind: 'step', at: compared + 1, what: 'steps', a: has(a.length), b: has(b.length) };
  }
  return { count: { compared, differing, ...surplus(a, b) }, byField, pair, first };
}

const discardText = (one: DiscardOutline | undefined): string =>
  one === undefined
    ? NOTHING
    : Object.entries(one.what)
        .map(([name, value]) => `${name} ${value === 0 ? 0 : value}`)
        .join(', ');

function diffDiscards(a: LedgerOutline['discards'], b: LedgerOutline['discards']): DiffPart {
  const keys = [...new Set([...a.keys(), ...b.keys()])];
  const differing = keys.filter((key) => discardText(a.get(key)) !== discardText(b.get(key)));
  const inBoth = (key: string): boolean => a.has(key) && b.has(key);
  const firsts = differing.map((key): Divergence => ({
    kind: 'discards',
    at: earlier(a.get(key), b.get(key)),
    what: key,
    a: discardText(a.get(key)),
    b: discardText(b.get(key)),
  }));
  const [first] = firsts.sort((one, other) => one.at - other.at);
  return {
    count: {
      compared: keys.filter(inBoth).length,
      differing: differing.filter(inBoth).length,
      onlyA: differing.filter((key) => !b.has(key)).length,
      onlyB: differing.filter((key) => !a.has(key)).length,
    },
    first,
  };
}

export interface StepDifference extends ComparedPair {
  readonly field: StepField;
  readonly name: string;
  /** Empty for values of the step itself. */
  readonly trajectory: string;
}

/** The values in which two steps differ. If there are none, the steps differ only in the order of their trajectories. */
export function diffStepValues(a: readonly StepValue[], b: readonly StepValue[]): readonly StepDifference[] {
  const keyOf = ({ trajectory, name }: StepValue): string => `${trajectory}\n${name}`;
  const [own, other] = [new Map(a.map((value) => [keyOf(value), value])), new Map(b.map((value) => [keyOf(value), value]))];
  return [...new Set([...own.keys(), ...other.keys()])].flatMap((key) => {
    const [left, right] = [own.get(key), other.get(key)];
    const known = left ?? right;
    if (known === undefined || left?.value === right?.value) return [];
    const { field, name, trajectory } = known;
    return [{ field, name, trajectory, a: left?.value ?? NOTHING, b: right?.value ?? NOTHING }];
  });
}
