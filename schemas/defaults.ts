// The value of each field when the writer omits it: the default of the schema, or the empty value of its type.
import avro from 'avsc';

const empty: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['string', ''],
  ['boolean', false],
  ['int', 0],
  ['long', 0],
  ['float', 0],
  ['double', 0],
  ['array', []],
]);

function emptyOf(type: avro.Type): unknown {
  const name = type instanceof avro.types.LogicalType ? type.underlyingType.typeName : type.typeName;
  if (!empty.has(name)) throw new RangeError(`a field of type ${name} has no empty value; give it a default`);
  return empty.get(name);
}

const fieldsOf = (schema: string): avro.types.RecordType['fields'] => {
  const type = avro.Type.forSchema(JSON.parse(schema) as avro.Schema);
  return type instanceof avro.types.RecordType ? type.fields : [];
};

/** Throws RangeError for a field without a default whose type has no empty value. */
export function defaultsOf(schema: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fieldsOf(schema).map((field) => {
      const value: unknown = field.defaultValue();
      return [field.name, value === undefined ? emptyOf(field.type) : value];
    }),
  );
}

/** How the default of each field that has one is encoded. */
export function encodedDefaults(schema: string): ReadonlyMap<string, Buffer> {
  const encoded = new Map<string, Buffer>();
  for (const field of fieldsOf(schema)) {
    const value: unknown = field.defaultValue();
    if (value !== undefined) encoded.set(field.name, field.type.toBuffer(value));
  }
  return encoded;
}
