/** A queue ordered by time, earliest first; ties in insertion order. */
export interface Timeline<T> {
  readonly size: number;
  add(at: number, what: T): void;
  take(): T | undefined;
}

interface TimelineEntry<T> {
  readonly at: number;
  readonly order: number;
  readonly what: T;
}

const before = <T>(a: TimelineEntry<T>, b: TimelineEntry<T>): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

/** Implemented as a binary heap. */
export function createTimeline<T>(): Timeline<T> {
  const heap: TimelineEntry<T>[] = [];
  let added = 0;

  function rise(entry: TimelineEntry<T>): void {
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !before(entry, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = entry;
  }

  function sink(entry: TimelineEntry<T>): void {
    let at = 0;
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
      if (left === undefined) break;
      const child = right !== undefined && before(right, left) ? right : left;
      if (!before(child, entry)) break;
      heap[at] = child;
      at = child === left ? 2 * at + 1 : 2 * at + 2;
    }
    heap[at] = entry;
  }

  return {
    get size() {
      return heap.length;
    },
    add(at, what) {
      rise({ at, order: added, what });
      added += 1;
    },
    take() {
      const [first] = heap;
      const last = heap.pop();
      if (first === undefined || last === undefined) return undefined;
      if (heap.length > 0) sink(last);
      return first.what;
    },
  };
}
