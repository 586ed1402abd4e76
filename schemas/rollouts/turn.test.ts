import { describe, expect, it } from 'vitest';
import { createCodec } from '../codec.ts';
import { encodedDefaults } from '../defaults.ts';
import { publishedSchemas } from '../generated/events.ts';
import { layoutBetween } from '../layout.ts';
import { latestSchema } from '../subjects.ts';
import { emptyTurn, fieldsCutAs, outlineColumns, turnComments, turnFieldKinds, turnRowKinds } from './turn.ts';
import { turnFields } from './turn-fields.ts';

interface NestedSchemaField {
  readonly name: string;
  readonly type: unknown;
}

const newest = latestSchema('TurnRecorded').schema;
const { fields } = JSON.parse(newest) as { readonly fields: readonly NestedSchemaField[] };

/** Kinds that a column may have for each type of the schema. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  '"string"': ['text'],
  '"boolean"': ['flag'],
  '"int"': ['whole'],
  '"long"': ['whole'],
  '"double"': ['number'],
  '"float"': ['number'],
  '{"type":"long","logicalType":"timestamp-micros"}': ['time'],
  '{"type":"array","items":"int"}': ['wholes'],
  '{"type":"array","items":"float"}': ['numbers'],
  '{"type":"array","items":"string"}': ['texts'],
};
const listed: Readonly<Record<string, string>> = { text: 'texts', whole: 'wholes', number: 'numbers' };

interface AnySpec {
  readonly kind?: string;
  readonly each?: Readonly<Record<string, AnySpec>>;
  readonly inside?: Readonly<Record<string, AnySpec>>;
}

const nestedFields = (type: unknown): readonly NestedSchemaField[] => {
  const record = (Array.isArray(type) ? type[1] : (type as { readonly items: unknown }).items) as {
    readonly fields: readonly NestedSchemaField[];
  };
  return record.fields;
};

describe('the table of a turn', () => {
  it.each(fields)('gives $name a kind that its schema type allows', ({ name, type }) => {
    const spec = (turnFields as Readonly<Record<string, AnySpec>>)[name];
    if (spec?.each === undefined && spec?.inside === undefined) {
      expect([...(kinds[JSON.stringify(type)] ?? []), 'log']).toContain(spec?.kind);
      return;
    }
    const inside = nestedFields(type);
    expect(Object.keys({ ...spec.each, ...spec.inside }).sort()).toEqual(inside.map((field) => field.name).sort());
    for (const field of inside) {
      const of = kinds[JSON.stringify(field.type)] ?? [];
      expect(['log', ...of, ...of.map((kind) => listed[kind])]).toContain({ ...spec.each, ...spec.inside }[field.name]?.kind);
    }
  });

  it('has a layout for every published version', () => {
    const versions = publishedSchemas.filter(({ name }) => name === 'TurnRecorded');
    for (const { schema, version } of versions) expect(layoutBetween(schema, newest), `v${version}`).toBeDefined();
  });

  it('has the columns that REST has returned since the first version', () => {
    const row = [
      ...['run_id', 'group_id', 'trajectory_id', 'attempt', 'turn', 'purpose', 'worker_id', 'policy_version_min', 'policy_version_max'],
      ...['policy_span_versions', 'policy_span_tokens', 'prompt_tokens', 'completion_tokens', 'unknown_tokens', 'generation_ms'],
      ...['generation_queue_ms', 'generation_retries', 'generation_retry_ms', 'generation_server_ms', 'first_token_ms', 'stop_text'],
      ...['finish_reason', 'text_head', 'tool', 'call_id', 'tool_status', 'tool_error_type', 'tool_started_at', 'tool_ms'],
      ...['tool_queue_ms', 'tool_retries', 'tool_retry_ms', 'tool_server_ms', 'tool_arguments', 'tool_result_head'],
      ...['tool_result_chars', 'tool_item_urls', 'tool_item_titles', 'truncated', 'cache_hit', 'reward', 'decision_candidates'],
      ...['decision_chosen', 'decision_logprob', 'decision_entropy', 'occurred_at'],
    ];
    expect(Object.keys(turnRowKinds)).toEqual(expect.arrayContaining(row));
    expect(turnFieldKinds).toMatchObject({ text: 'text', tool_result: 'text', token_ids: 'wholes', logprobs: 'numbers' });
    expect(Object.keys(turnComments)).toEqual(expect.arrayContaining([...row, ...Object.keys(turnFieldKinds)]));
  });

  it('has the figures of the outline', () => {
    const names = outlineColumns.map(({ as }) => as).sort();
    const figures = [
      'turn',
      'generation_ms',
      'generation_queue_ms',
      'tool_ms',
      'tool_queue_ms',
      'prompt_tokens',
      'completion_tokens',
      'version_min',
      'version_max',
      'result_chars',
    ];
    expect(names).toEqual([...figures, 'reward', 'tool', 'status', 'error_type', 'worker'].sort());
  });

  it('truncates each field in at most one way', () => {
    const ways = ['slug', 'text', 'arguments', 'items', 'calls', 'tokens', 'decision', undefined] as const;
    expect(ways.flatMap(fieldsCutAs).sort()).toEqual(fields.map(({ name }) => name).sort());
  });

  it('leaves out only fields with a default', () => {
    const sparse = Object.entries(turnFields as Readonly<Record<string, { readonly sparse?: true }>>).filter(
      ([, spec]) => spec.sparse === true,
    );
    const defaults = encodedDefaults(newest);
    for (const [field] of sparse) expect(defaults.get(field), field).toBeDefined();
    expect(sparse.length).toBeGreaterThan(15);
  });

  it('has an empty turn that its schema takes', () => {
    const codec = createCodec();
    expect(codec.decode(codec.encode('TurnRecorded', emptyTurn))).toMatchObject({ ok: true, value: { event: emptyTurn } });
  });
});
