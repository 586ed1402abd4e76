/** Topic names with and without the namespace. */
export interface TopicNames {
  full(topic: string): string;
  /** The short name; undefined for a topic of another namespace. */
  short(fullName: string): string | undefined;
}

export function createNames(namespace: string): TopicNames {
  const prefix = `${namespace}.`;
  return {
    full: (topic) => prefix + topic,
    short: (fullName) => (fullName.startsWith(prefix) ? fullName.slice(prefix.length) : undefined),
  };
}
