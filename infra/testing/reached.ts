// Records crash points in a test: which ones are reached, and whether effects happen only inside of a step.
import { crashSteps, type CrashPoint, type CrashStep } from '../../streams/core/crash-points.ts';

export interface ReachedPoints {
  readonly reach: (point: CrashPoint) => void;
  readonly points: readonly CrashPoint[];
  /** Effects with the step that they belong to; '' for effects outside of any step. */
  readonly effects: readonly (readonly [step: CrashStep | '', effect: string])[];
  /** Records an effect where it happens. */
  readonly effect: (name: string) => void;
}

export function watchPoints(): ReachedPoints {
  const points: CrashPoint[] = [];
  const effects: [CrashStep | '', string][] = [];
  let inside: CrashStep | '' = '';
  return {
    points,
    effects,
    reach(point) {
      points.push(point);
      if (point.endsWith('.before')) inside = point.slice(0, -'.before'.length) as CrashStep;
      if (point.endsWith('.after')) inside = '';
    },
    effect(name) {
      effects.push([inside, name]);
    },
  };
}

/** Steps of a procedure, such as `sink`, in the order of `crashSteps`. */
export const stepsOf = (procedure: string): readonly string[] =>
  Object.keys(crashSteps).filter((step) => step.slice(0, step.lastIndexOf('.')) === procedure);
