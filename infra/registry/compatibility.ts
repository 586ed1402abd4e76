// Reports the results of schemas/compatibility.ts as errors of a registry.
import { compatibilityOf } from '../../schemas/compatibility.ts';
import { messageOf, PlatformError } from '../../streams/core/errors.ts';
import type { RegisteredSchema } from '../../streams/core/ports.ts';

/** The JSON of the schema without whitespace. Throws SCHEMA_INVALID when it is not JSON. */
export function normalised(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch (cause) {
    throw new PlatformError('SCHEMA_INVALID', `reading an Avro schema: ${messageOf(cause)}`, { cause });
  }
}

/** Checks FULL_TRANSITIVE compatibility. Throws SCHEMA_INVALID, or SCHEMA_INCOMPATIBLE with the version and the reason. */
export function assertCompatible(subject: string, schema: string, versions: readonly RegisteredSchema[]): void {
  const outcome = compatibilityOf(
    schema,
    versions.map((registered) => registered.schema),
  );
  if (outcome.kind === 'invalid') throw new PlatformError('SCHEMA_INVALID', `registering a schema under ${subject}: ${outcome.reason}`);
  if (outcome.kind === 'compatible') return;
  const version = versions[outcome.version]?.version ?? 0;
  throw new PlatformError(
    'SCHEMA_INCOMPATIBLE',
    `registering a schema under ${subject}: it does not fit version ${version}: ${outcome.reason}`,
    {
      context: { subject, version, reason: outcome.reason },
    },
  );
}
