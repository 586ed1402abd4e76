// Named schemas of the OpenAPI document. A schema with a title moves to the components under that name and is replaced by a reference; two
// different schemas with the same name are a mistake, which throws.
export type SchemaObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is SchemaObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export const mapValues = (object: unknown, change: (key: string, value: unknown) => unknown): SchemaObject =>
  isObject(object) ? Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(key, value)])) : {};

export interface Components {
  /** The schema, or a reference to it when it has a title. */
  name(schema: unknown): unknown;
  /** The same for the media types of a response. */
  ofAnswer(content: unknown): SchemaObject;
  /** The same for the media types of a request, where fields with a default are optional. */
  ofBody(content: unknown): SchemaObject;
  all(): SchemaObject;
}

/** Keywords that hold a map of schemas, a list of schemas, or one schema. */
const MAPS = new Set(['properties']);
const LISTS = new Set(['anyOf', 'oneOf', 'allOf']);
const SINGLE = new Set(['items', 'additionalProperties']);

export function createComponents(known: SchemaObject): Components {
  const schemas = new Map<string, unknown>(Object.entries(known));

  function within(keyword: string, value: unknown): unknown {
    if (MAPS.has(keyword)) return mapValues(value, (_name, schema) => name(schema));
    if (LISTS.has(keyword) && Array.isArray(value)) return value.map(name);
    return SINGLE.has(keyword) ? name(value) : value;
  }

  function name(schema: unknown): unknown {
    if (!isObject(schema)) return schema;
    const { title, ...rest } = mapValues(typed(schema), within);
    if (typeof title !== 'string') return rest;
    const before = schemas.get(title);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(rest)) {
      throw new Error(`describing the API: there are two schemas named ${title}`);
    }
    schemas.set(title, rest);
    return { $ref: `#/components/schemas/${title}` };
  }

  const contentOf = (content: unknown, change: (schema: SchemaObject) => SchemaObject): SchemaObject =>
    mapValues(content, (_type, media) => {
      const { schema } = media as SchemaObject;
      return isObject(schema) ? { ...(media as SchemaObject), schema: name(change(schema)) } : media;
    });

  return {
    name,
    ofAnswer: (content) => contentOf(content, (schema) => schema),
    ofBody: (content) => contentOf(content, withDefaults),
    all: () => Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** Code generators need the type of an enumeration, and recognize a map only by `additionalProperties`. */
function typed(schema: SchemaObject): SchemaObject {
  const { enum: values, type, patternProperties, ...rest } = schema;
  if (isObject(patternProperties)) return { type, ...rest, additionalProperties: Object.values(patternProperties)[0] };
  const texts = Array.isArray(values) && type === undefined && values.every((value) => typeof value === 'string');
  return texts ? { type: 'string', ...schema } : schema;
}

function withDefaults(schema: SchemaObject): SchemaObject {
  const { required, properties } = schema;
  if (!Array.isArray(required) || !isObject(properties)) return schema;
  const needed = (required as readonly string[]).filter((field) => !('default' in (properties[field] as SchemaObject)));
  return { ...schema, required: needed };
}
