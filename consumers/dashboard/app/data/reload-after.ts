// Which addresses to reload after events: at most once a second while events come, and again some time after the last one. The tables get
// an event after the log, sometimes seconds later, so the first response may lack it.

const SOON_MS = 1_000;
/** Waits after the last event. */
const LATER_MS = [5_000, 20_000] as const;

/** Returns a function that reloads addresses now and later. Timers are not stopped: reloading what is no longer shown requests nothing. */
export function createReloads(reload: (...addresses: readonly string[]) => void): (addresses: readonly string[]) => void {
  const wanted = new Set<string>();
  const unsettled = new Set<string>();
  let soon: ReturnType<typeof setTimeout> | undefined;
  let later: readonly ReturnType<typeof setTimeout>[] = [];
  const reloadWanted = (): void => {
    soon = undefined;
    reload(...wanted);
    for (const address of wanted) unsettled.add(address);
    wanted.clear();
    for (const timer of later) clearTimeout(timer);
    later = LATER_MS.map((waitMs, at) =>
      setTimeout(() => {
        reload(...unsettled);
        if (at === LATER_MS.length - 1) unsettled.clear();
      }, waitMs - SOON_MS),
    );
  };
  return (addresses) => {
    for (const address of addresses) wanted.add(address);
    if (wanted.size > 0) soon ??= setTimeout(reloadWanted, SOON_MS);
  };
}
