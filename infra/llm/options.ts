// How a language model is reached and asked.

export interface LlmOptions {
  /** Without the last path segments, e.g. http://127.0.0.1:8000/v1 */
  readonly url: string;
  readonly api: 'chat' | 'completions';
  readonly model: string;
  /** Empty sends none. Never logged. */
  readonly apiKey: string;
  readonly temperature: number;
  readonly topP: number;
  readonly stream: boolean;
  readonly logprobs: boolean;
  /** Asks for the token ids of prompt and completion, as vLLM and SGLang name it. */
  readonly tokenIds?: boolean;
  /** What the server's logprobs are of; empty when nobody says. */
  readonly logprobsKind?: string;
  readonly tokenizerSha256?: string;
  /** Name and version of the engine; what the answer says unless it is given. */
  readonly engine?: string;
  /** More fields of the request. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** Where the version of the weights is looked for: `header:<name>` or a path into the answer. */
  readonly versionFrom: readonly string[];
  /** Whose labels `<run>/<version>` count as versions; without it, those of every run. */
  readonly run?: string;
  /** Whether an interrupted generation goes on where it was; without it, it begins anew. */
  readonly goOn?: boolean;
  /** Requests at once. */
  readonly concurrency: number;
  /** Tries after the first. */
  readonly retries: number;
  /** First and longest wait before a try, ms. */
  readonly retryMs: readonly [number, number];
  /** Time of one try, and of silence within it, ms. */
  readonly timeoutMs: number;
  readonly idleMs: number;
}
