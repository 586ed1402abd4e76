// An in-memory schema registry; its ids are derived from the content, as in the topic registry.
import { compatibilityOf } from '../../schemas/compatibility.ts';
import { publishedSchemas } from '../../schemas/generated/events.ts';
import { contentId, subjectOf } from '../../schemas/subjects.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { RegisteredSchema, SchemaRegistry } from '../../streams/core/ports.ts';

/** Contains the published schemas of `namespace`, plus later registrations. */
export function createMemoryRegistry(namespace = 'memory'): SchemaRegistry {
  const subjects = new Map<string, RegisteredSchema[]>();
  const add = (subject: string, schema: string): RegisteredSchema => {
    const versions = subjects.get(subject) ?? [];
    const known = versions.find((version) => version.schema === schema);
    if (known !== undefined) return known;
    const found = compatibilityOf(
      schema,
      versions.map((version) => version.schema),
    );
    if (found.kind === 'invalid') throw new PlatformError('SCHEMA_INVALID', `registering under ${subject}: ${found.reason}`);
    if (found.kind === 'incompatible') throw new PlatformError('SCHEMA_INCOMPATIBLE', `registering under ${subject}: ${found.reason}`);
    const registered = { subject, version: versions.length + 1, id: contentId(schema), schema };
    subjects.set(subject, [...versions, registered]);
    return registered;
  };
  for (const entry of publishedSchemas) add(subjectOf(namespace, entry), entry.schema);
  return {
    ensurePublished: async () => undefined,
    idOf: contentId,
    register: async (subject, schema) => add(subject, schema),
    byId: async (id) => [...subjects.values()].flat().find((known) => known.id === id)?.schema,
    subjects: async () => [...subjects.keys()].sort(),
    versions: async (subject) => subjects.get(subject) ?? [],
    close: async () => undefined,
  };
}
