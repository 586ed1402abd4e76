// The names of the attached rewards that a run waits for and trains on, as its first entry records them.
import type { RunStarted } from '../../schemas/generated/events.ts';
import { parseRewardNames } from '../reward/attached.ts';

interface RecordedSettings {
  readonly requests?: { readonly rewardNames?: unknown };
}

/** Sorted; none for a run that trains on the recorded reward alone. */
export function rewardNamesOf({ settings }: Pick<RunStarted, 'settings'>): readonly string[] {
  try {
    const { requests } = JSON.parse(settings) as RecordedSettings;
    const names = requests?.rewardNames;
    return typeof names === 'string' ? (parseRewardNames(names) ?? []) : [];
  } catch {
    return [];
  }
}
