// The types of the API for clients, from its OpenAPI document: TypedDicts in Python, two interfaces in TypeScript.
type Json = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Json;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
}

/** The part of an OpenAPI document that clients are made from. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

const NOTE = "Generated from the API's OpenAPI document by `npm run generate:reference`. Do not edit.";

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const listed = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isJson) : []);
const refOf = (schema: Json): string | undefined =>
  typeof schema['$ref'] === 'string' ? schema['$ref'].slice(schema['$ref'].lastIndexOf('/') + 1) : undefined;
const propertiesOf = (schema: Json): readonly (readonly [string, Json])[] =>
  isJson(schema['properties']) ? Object.entries(schema['properties']).filter((entry): entry is [string, Json] => isJson(entry[1])) : [];
const requiredOf = (schema: Json): ReadonlySet<unknown> => new Set(Array.isArray(schema['required']) ? schema['required'] : []);
const capital = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

/** The operations of the clients, those under /v1/. The routes of the schema registry have clients of their own. */
const operationsOf = ({ paths }: ApiDocument): readonly Operation[] =>
  Object.entries(paths).flatMap(([path, item]) => (path.startsWith('/v1/') ? Object.values(item) : []));

/** The query of an operation as the schema of an object; undefined if it has none. */
function queryOf({ parameters = [] }: Operation): Json | undefined {
  const own = parameters.filter((parameter) => parameter.in === 'query');
  if (own.length === 0) return undefined;
  const required = own.filter((parameter) => parameter.required === true).map(({ name }) => name);
  return { type: 'object', required, properties: Object.fromEntries(own.map(({ name, schema }) => [name, schema])) };
}

/** How a language writes the type of a schema without properties. */
interface Words {
  readonly types: Readonly<Record<string, string>>;
  readonly anything: string;
  readonly literal: (values: readonly unknown[]) => string;
  readonly list: (inner: string) => string;
  readonly map: (inner: string) => string;
}

const union = (parts: readonly string[]): string => [...new Set(parts)].join(' | ');

/** The type of a schema; `object` names the type of one with properties. */
function typeOf(schema: Json, words: Words, object: (schema: Json) => string): string {
  const inner = (one: unknown): string => (isJson(one) && Object.keys(one).length > 0 ? typeOf(one, words, object) : words.anything);
  const ref = refOf(schema);
  if (ref !== undefined) return words.types[ref] ?? object(schema);
  if (Array.isArray(schema['anyOf'])) return union(listed(schema['anyOf']).map(inner));
  if (Array.isArray(schema['enum'])) return words.literal(schema['enum']);
  if (schema['type'] === 'array') return words.list(inner(schema['items']));
  if (schema['type'] !== 'object') return words.types[String(schema['type'])] ?? words.anything;
  return propertiesOf(schema).length > 0 ? object(schema) : words.map(inner(schema['additionalProperties']));
}

const python: Words = {
  types: { string: 'str', integer: 'int', number: 'float', boolean: 'bool', null: 'None' },
  anything: 'Any',
  literal: (values) => `Literal[${values.map((value) => JSON.stringify(value)).join(', ')}]`,
  list: (inner) => `list[${inner}]`,
  map: (inner) => `dict[str, ${inner}]`,
};

/** The class of a schema, after the classes of the objects in it. Fields that may be missing are in a class of their own. */
function pythonClasses(name: string, schema: Json): readonly string[] {
  const made: string[] = [];
  const required = requiredOf(schema);
  const fields = propertiesOf(schema).map(([field, inner]) => {
    const type = typeOf(inner, python, (object) => {
      const ref = refOf(object);
      if (ref !== undefined) return ref;
      const own = `${name}${field.split('_').map(capital).join('')}`;
      made.push(...pythonClasses(own, object));
      return own;
    });
    return { field, type };
  });
  const [always, maybe] = [fields.filter(({ field }) => required.has(field)), fields.filter(({ field }) => !required.has(field))];
  if (maybe.length === 0) return [...made, pythonClass(name, always)];
  if (always.length === 0) return [...made, pythonClass(name, maybe, ', total=False')];
  const parts = [pythonClass(`_${name}`, always), pythonClass(`_${name}Maybe`, maybe, ', total=False')];
  return [...made, ...parts, `class ${name}(_${name}, _${name}Maybe):\n    pass\n`];
}

interface PythonField {
  readonly field: string;
  readonly type: string;
}

const KEYWORDS: ReadonlySet<string> = new Set(['from', 'with', 'as', 'in', 'is', 'not', 'class', 'global', 'import', 'pass', 'return']);

/** A field named like a Python keyword requires TypedDict's functional syntax. */
function pythonClass(name: string, fields: readonly PythonField[], total = ''): string {
  if (fields.some(({ field }) => KEYWORDS.has(field)))
    return `${name} = TypedDict(\n    "${name}",\n    {\n${fields.map(({ field, type }) => `        "${field}": ${JSON.stringify(type)},\n`).join('')}    }${total},\n)\n`;
  return `class ${name}(TypedDict${total}):\n${fields.map(({ field, type }) => `    ${field}: ${type}\n`).join('') || '    pass\n'}`;
}

/** models.py: a class for each component, and one for the query of each operation. */
export function pythonTypes(document: ApiDocument): string {
  const components = Object.entries(document.components.schemas).filter(([, schema]) => propertiesOf(schema).length > 0);
  const queries = operationsOf(document).flatMap((operation) => {
    const query = queryOf(operation);
    return query === undefined ? [] : [[`${capital(operation.operationId)}Query`, query] as const];
  });
  const classes = [...components, ...queries].flatMap(([name, schema]) => pythonClasses(name, schema));
  const head = `"""Request and response types of the API. ${NOTE}"""\n\nfrom __future__ import annotations\n\nfrom typing import Any, Literal, TypedDict\n`;
  return [head, ...classes].join('\n\n');
}

const typescript: Words = {
  types: { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' },
  anything: 'unknown',
  literal: (values) => union(values.map((value) => `'${String(value)}'`)),
  list: (inner) => `readonly ${/^[\w'[\]]+$/.test(inner) || inner.startsWith('{') ? inner : `(${inner})`}[]`,
  map: (inner) => `Readonly<Record<string, ${inner}>>`,
};

function typescriptType(schema: Json): string {
  return typeOf(schema, typescript, (object) => {
    const ref = refOf(object);
    if (ref !== undefined) return `Schemas['${ref}']`;
    const required = requiredOf(object);
    const fields = propertiesOf(object).map(
      ([field, inner]) =>
        `readonly ${/^\w+$/.test(field) ? field : `'${field}'`}${required.has(field) ? '' : '?'}: ${typescriptType(inner)}`,
    );
    return `{ ${fields.join('; ')} }`;
  });
}

/** schemas.ts: an interface with a property for each component, and one with the query of each operation. */
export function typescriptTypes(document: ApiDocument): string {
  const components = Object.entries(document.components.schemas).map(
    ([name, schema]) => `  readonly ${name}: ${typescriptType(schema)};\n`,
  );
  const queries = operationsOf(document).flatMap((operation) => {
    const query = queryOf(operation);
    return query === undefined ? [] : [`  readonly ${operation.operationId}: ${typescriptType(query)};\n`];
  });
  return `// Request and response types of the API. ${NOTE}\n\nexport interface Schemas {\n${components.join('')}}\n\n/** Query parameters of each operation, by its operationId. */\nexport interface Queries {\n${queries.join('')}}\n`;
}
