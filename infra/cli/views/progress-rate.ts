// Measures a rate over the last few seconds, so that the remaining time follows the current speed.

interface ProgressMark {
  readonly atMs: number;
  readonly done: number;
}

const WINDOW_MS = 5_000;

/** Takes the amount done so far; returns the rate per second. */
export function createRate(windowMs = WINDOW_MS): (done: number, nowMs: number) => number {
  let marks: ProgressMark[] = [];
  return (done, nowMs) => {
    if (done < (marks.at(-1)?.done ?? 0)) marks = [];
    marks.push({ atMs: nowMs, done });
    while (marks.length > 2 && nowMs - (marks[0]?.atMs ?? nowMs) > windowMs) marks.shift();
    return between(marks[0], marks.at(-1));
  };
}

function between(first: ProgressMark | undefined, last: ProgressMark | undefined): number {
  if (first === undefined || last === undefined || last.atMs === first.atMs) return 0;
  return ((last.done - first.done) * 1_000) / (last.atMs - first.atMs);
}

/** `232000 of 454000 records (51 %), 1200 records/s, 3 min 5 s left` */
export function renderPace({ done, of }: { readonly done: number; readonly of: number }, rate: number): string {
  const share = of === 0 ? 100 : Math.floor((done * 100) / of);
  const left = rate > 0 && done < of ? `, ${renderSeconds(Math.ceil((of - done) / rate))} left` : '';
  return `${done} of ${of} records (${share} %), ${Math.round(rate)} records/s${left}`;
}

const renderSeconds = (seconds: number): string => (seconds < 100 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`);
