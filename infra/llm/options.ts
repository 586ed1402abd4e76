// How a language model is reached, and how requests to it are made.

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
  /** Requests the token ids of prompt and completion, with the field of vLLM and SGLang. */
  readonly tokenIds?: boolean;
  /** Kind of the server's log probabilities; empty = unknown. */
  readonly logprobsKind?: string;
  readonly tokenizerSha256?: string;
  /** Name and version of the engine; by default as the response reports it. */
  readonly engine?: string;
  /** More fields of the request. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** Where to look for the version of the weights: `header:<name>`, a path into the response, or `route:<path>#<path into its answer>`. */
  readonly versionFrom: readonly string[];
  /** The run whose labels `<run>/<version>` count as versions; without it, those of every run do. */
  readonly run?: string;
  /** Whether an interrupted generation is continued; otherwise it starts over. */
  readonly goOn?: boolean;
  /** Maximum concurrent requests. */
  readonly concurrency: number;
  /** Tries after the first. */
  readonly retries: number;
  /** First and longest wait before a try, ms. */
  readonly retryMs: readonly [number, number];
  /** Maximum duration of one try, and of silence within it (`idleMs`), ms. */
  readonly timeoutMs: number;
  readonly idleMs: number;
}
