// Writes the address of the page into the browser. Browsers ignore changes, or throw, beyond about 100 in 10 s, and a held key makes 30 a
// second: a burst is written at once, then the newest address every REFILL_MS.

const BURST = 40;
const REFILL_MS = 200;

interface AddressWriter {
  readonly put: (href: string) => void;
  /** Writes a waiting address at once. */
  readonly flush: () => void;
  /** Forgets a waiting address. */
  readonly drop: () => void;
}

export function createAddressWriter(write: (href: string) => void): AddressWriter {
  let waiting: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Rate limit: each write moves this time on by REFILL_MS, to at most BURST writes ahead of the clock. */
  let takenUntil = 0;
  const drop = (): void => {
    clearTimeout(timer);
    timer = undefined;
    waiting = undefined;
  };
  const flush = (): void => {
    const href = waiting;
    drop();
    if (href === undefined) return;
    takenUntil = Math.max(Date.now(), takenUntil) + REFILL_MS;
    write(href);
  };
  return {
    put(href) {
      waiting = href;
      if (timer !== undefined) return;
      const waitMs = takenUntil - Date.now() - BURST * REFILL_MS;
      if (waitMs < 0) flush();
      else timer = setTimeout(flush, waitMs);
    },
    flush,
    drop,
  };
}
