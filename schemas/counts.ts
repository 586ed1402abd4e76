// Counts in events: a number of tokens, turns or calls is never negative. Avro schemas cannot express this, and one invalid event would
// spoil every sum that includes it, so such an event is treated as undecodable.

/** Names of the fields that are counts, in every event and in its nested records. */
export const COUNTS: ReadonlySet<string> = new Set([
  'prompt_tokens',
  'completion_tokens',
  'tokens',
  'turns',
  'tool_calls',
  'tool_errors',
  'result_chars',
]);

interface WithPolicySpans {
  readonly policy_spans?: readonly { readonly tokens: number }[];
}

/**
 * Checks the counts of decoded events of one schema or view; throws RangeError for a negative one. -1 means "not recorded" in the fields of
 * `maybe`, which have that default in the schema.
 */
export function countCheckOf(fields: readonly string[], maybe: ReadonlySet<string> = new Set()): (event: unknown) => void {
  const counts = fields.filter((name) => COUNTS.has(name)).map((name) => ({ name, least: maybe.has(name) ? -1 : 0 }));
  const hasSpans = fields.includes('policy_spans');
  return (event) => {
    const values = event as Readonly<Record<string, number>>;
    for (const { name, least } of counts)
      if ((values[name] ?? 0) < least) throw new RangeError(`${name} is ${values[name] ?? 0}, and counts are not negative`);
    if (!hasSpans) return;
    for (const { tokens } of (event as WithPolicySpans).policy_spans ?? []) {
      if (tokens < 0) throw new RangeError(`a policy span has ${tokens} tokens, and counts are not negative`);
    }
  };
}
