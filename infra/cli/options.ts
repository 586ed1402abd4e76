// Parsers of option values. An invalid value is a usage error that names the option.
import { InvalidArgumentError } from 'commander';
import { parseRunId } from '../../streams/core/ids.ts';

/** An integer in `min`..`max`. */
export const wholeIn =
  (min: number, max: number) =>
  (raw: string): number => {
    const value = Number(raw);
    if (!/^-?\d+$/.test(raw) || value < min || value > max) throw new InvalidArgumentError(`It must be a whole number in ${min}..${max}.`);
    return value;
  };

/** A number in `min`..`max`. */
export const numberIn =
  (min: number, max: number) =>
  (raw: string): number => {
    const value = Number(raw);
    if (raw.trim() === '' || !(value >= min && value <= max)) throw new InvalidArgumentError(`It must be a number in ${min}..${max}.`);
    return value;
  };

/** A run id. */
export function runSlug(raw: string): string {
  const id = parseRunId(raw);
  if (id === undefined) throw new InvalidArgumentError('It must be a slug: lower-case letters, digits and hyphens, at most 63 characters.');
  return id;
}

/** The name of a question set. */
export function datasetSlug(raw: string): string {
  if (!/^[a-z0-9][a-z0-9_-]{0,62}$/.test(raw))
    throw new InvalidArgumentError('It must be a slug: lower-case letters, digits, - and _, at most 63 characters.');
  return raw;
}

/** The examples in a command's help. */
export const examples = (...lines: readonly string[]): string => `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`;
