/** A map that evicts the least recently used entry once it holds more than `capacity` entries. */
export interface Lru<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
}

export function createLru<V>(capacity: number): Lru<V> {
  const entries = new Map<string, V>();
  return {
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      entries.delete(key);
      entries.set(key, value);
      if (entries.size > capacity) {
        const oldest = entries.keys().next();
        if (!oldest.done) entries.delete(oldest.value);
      }
    },
  };
}
