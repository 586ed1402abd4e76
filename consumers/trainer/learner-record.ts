// The learner in RunStarted: with it, an update can be repeated and a resumed run continues without any configuration.
import type { RunStarted } from '../../schemas/generated/events.ts';
import type { Architecture, LearnerParameters } from '../../streams/core/learning.ts';

/** The text of RunStarted's `learner` field. */
export const learnerRecord = (architecture: Architecture, parameters: LearnerParameters | undefined): string =>
  JSON.stringify({ architecture, ...(parameters === undefined ? {} : { hyper: parameters }) });

export interface RecordedLearner {
  /** Undefined if it was not recorded. */
  readonly architecture: Architecture | undefined;
  readonly parameters: LearnerParameters | undefined;
}

/** Parses the text; missing or invalid parts are undefined. */
export function recordedLearner({ learner }: Pick<RunStarted, 'learner'>): RecordedLearner {
  const { architecture, hyper } = parse(learner);
  return {
    architecture: isArchitecture(architecture) ? architecture : undefined,
    parameters: isObject(hyper) ? (hyper as LearnerParameters) : undefined,
  };
}

/** Names of parameters in which two learners differ. */
export function parameterDifferences(own: LearnerParameters = {}, recorded: LearnerParameters = own): readonly string[] {
  return [...new Set([...Object.keys(own), ...Object.keys(recorded)])].filter((name) => own[name] !== recorded[name]);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

const isArchitecture = (value: unknown): value is Architecture =>
  isObject(value) && value['format'] === 'mlp-f32-v1' && typeof value['inputs'] === 'number' && Array.isArray(value['hidden']);
