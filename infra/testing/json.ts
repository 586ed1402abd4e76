// Types of parsed JSON, for tests.

/** A parsed JSON object. */
export type JsonObject = Record<string, unknown>;
