// Safe access to JSON from other programs.

type JsonFields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is JsonFields => typeof value === 'object' && value !== null;

/** The value at a path, or undefined; numbers index lists. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value;
  for (const key of path) {
    if (!isFields(found)) return undefined;
    found = found[key];
  }
  return found;
}

export const textAt = (value: unknown, ...path: readonly (string | number)[]): string => {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
};

/** A count, or undefined. */
export const countAt = (value: unknown, ...path: readonly (string | number)[]): number | undefined => {
  const found = at(value, ...path);
  return typeof found === 'number' && Number.isInteger(found) && found >= 0 ? found : undefined;
};

export const listAt = (value: unknown, ...path: readonly (string | number)[]): readonly unknown[] => {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
};

/** Undefined for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
