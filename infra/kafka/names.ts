/** Topic names with and without the namespace. */
export interface Names {
  full(topic: string): string;
  /** The short name; undefined for a topic of another namespace. */
  short(fullName: string): string | undefined;
}

export function createNames(namespace: string): Names {
  const prefix = `${namespace}.`;
  return {
    full: (topic) => prefix + topic,
    short: (fullName) => (fullName.startsWith(prefix) ? fullName.slice(prefix.length) : undefined),
  };
}
