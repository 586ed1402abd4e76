// Warns before a disk is full: predicts the time from the free space over the last few minutes.
import { bytesText } from './disk-use.ts';

/** Free space in bytes below which a warning is due, even if the disk does not fill any further. */
export const LOW_BYTES = 2_000_000_000;

/** A warning is due if the disk will be full within this time, ms. */
const SOON_MS = 2 * 3_600_000;

const WINDOW_MS = 600_000;
const SPACING_MS = 5_000;
/** Minimum time of observation before a rate is computed, ms. */
const KNOWN_MS = 60_000;

interface DiskSample {
  readonly atMs: number;
  readonly free: number;
}

export interface DiskForecast {
  /** Takes the free bytes at a monotonic time and returns the warning that is due; empty when there is none. */
  look(free: number, atMs: number): string;
}

export function createDiskForecast(): DiskForecast {
  const samples: DiskSample[] = [];
  return {
    look(free, atMs) {
      const newest = samples.at(-1);
      if (newest === undefined || atMs - newest.atMs >= SPACING_MS) samples.push({ atMs, free });
      while (samples.length > 1 && atMs - (samples[0]?.atMs ?? 0) > WINDOW_MS) samples.shift();
      const fullInMs = msUntilFull(samples[0], { atMs, free });
      if (fullInMs < SOON_MS)
        return `the data disk will be full in about ${durationText(fullInMs)} at the rate of the last minutes (${bytesText(free)} free)`;
      return free < LOW_BYTES ? `the data disk has ${bytesText(free)} left` : '';
    },
  };
}

function msUntilFull(first: DiskSample | undefined, now: DiskSample): number {
  if (first === undefined || now.atMs - first.atMs < KNOWN_MS) return Number.POSITIVE_INFINITY;
  const taken = first.free - now.free;
  return taken <= 0 ? Number.POSITIVE_INFINITY : (now.free * (now.atMs - first.atMs)) / taken;
}

function durationText(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 60_000));
  return minutes < 90 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}
