// FULL_TRANSITIVE: a new version and every earlier version can each read what the other wrote.
import avro from 'avsc';

export type Compatibility =
  | { readonly kind: 'compatible' }
  /** `version` is the 0-based index of the incompatible version. */
  | { readonly kind: 'incompatible'; readonly version: number; readonly reason: string }
  /** The candidate is not an Avro schema. */
  | { readonly kind: 'invalid'; readonly reason: string };

/** Checks a candidate against the existing versions of a subject, oldest first. Never throws. */
export function compatibilityOf(candidate: string, versions: readonly string[]): Compatibility {
  const next = parse(candidate);
  if (!(next instanceof avro.Type)) return { kind: 'invalid', reason: next.reason };
  for (const [version, text] of versions.entries()) {
    const before = parse(text);
    const reason = before instanceof avro.Type ? (cannotRead(next, before) ?? cannotRead(before, next)) : before.reason;
    if (reason !== undefined) return { kind: 'incompatible', version, reason };
  }
  return { kind: 'compatible' };
}

/** Each schema has its own name registry, so that versions of one record do not collide. */
function parse(text: string): avro.Type | { readonly reason: string } {
  try {
    return avro.Type.forSchema(JSON.parse(text) as avro.Schema);
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

/** Why `reader` cannot read what `writer` wrote, with the path of the field; undefined when it can. */
function cannotRead(reader: avro.Type, writer: avro.Type): string | undefined {
  const reason = whyNot(reader, writer);
  if (reason === undefined) return undefined;
  const path = pathToCause(reader, writer);
  return path.length === 0 ? reason : `field ${path.join('.')}: ${reason}`;
}

function whyNot(reader: avro.Type, writer: avro.Type): string | undefined {
  try {
    reader.createResolver(writer);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

interface ResolvedField {
  readonly name: string;
  readonly reader: avro.Type;
  /** Undefined for a field that the writer does not have and that has no default in the reader. */
  readonly writer: avro.Type | undefined;
}

/** Descends to the innermost part of the two types that is incompatible. */
function pathToCause(reader: avro.Type, writer: avro.Type): readonly string[] {
  for (const part of partsOf(reader, writer)) {
    if (part.writer === undefined) return [part.name];
    if (whyNot(part.reader, part.writer) !== undefined) return [part.name, ...pathToCause(part.reader, part.writer)];
  }
  return [];
}

function partsOf(reader: avro.Type, writer: avro.Type): ResolvedField[] {
  const { RecordType, ArrayType, MapType } = avro.types;
  if (reader instanceof RecordType && writer instanceof RecordType) {
    return reader.fields.flatMap((field) => {
      const found = writer.fields.find(({ name }) => name === field.name || field.aliases.includes(name));
      const filledIn = found === undefined && field.defaultValue() !== undefined;
      return filledIn ? [] : [{ name: field.name, reader: field.type, writer: found?.type }];
    });
  }
  if (reader instanceof ArrayType && writer instanceof ArrayType)
    return [{ name: '[]', reader: reader.itemsType, writer: writer.itemsType }];
  if (reader instanceof MapType && writer instanceof MapType) {
    return [{ name: '{}', reader: reader.valuesType as avro.Type, writer: writer.valuesType as avro.Type }];
  }
  return [];
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
