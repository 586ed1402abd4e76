// Ports of the rollout side: the policy that decides a turn, and the tools that it may call.

export interface ToolItem {
  readonly url: string;
  readonly title: string;
}

/** Time of a network call by phase, ms. */
export interface CallTiming {
  /** Wait for the concurrency limit of this process. */
  readonly queueMs: number;
  /** Failed tries before the last one. */
  readonly retries: number;
  /** Failed tries and the waits after them. */
  readonly retryMs: number;
  /** The last try, from sending to the end of the response. */
  readonly serverMs: number;
}

/** A tool never throws past its port: a failure is a result with a status and an error type. */
export interface ToolResult {
  readonly status: 'ok' | 'error' | 'timeout' | 'refused';
  /** Empty when ok; else a short slug such as not_found, http_500, private_address. */
  readonly errorType: string;
  /** The text that the policy sees. */
  readonly text: string;
  readonly items: readonly ToolItem[];
  readonly cacheHit: boolean;
  /** Set by a tool that uses the network. */
  readonly timing?: CallTiming;
}

/** One tool of the agent. `argument` is the query of a search, the URL of an access, or the input of a further tool. */
export interface Tool {
  readonly name: string;
  /** How a prompt describes it; search and access need no description. */
  readonly usage?: string;
  call(argument: string, signal: AbortSignal): Promise<ToolResult>;
}

/** A call of one of the two tools that every agent has. */
export type BaseCall = { readonly tool: 'search'; readonly query: string } | { readonly tool: 'access'; readonly url: string };

/** A call of any tool; tools other than search and access are called by name. */
export type ToolCall = BaseCall | { readonly tool: 'call'; readonly name: string; readonly input: string };

export interface FinalAnswer {
  readonly tool: 'answer';
  readonly answer: string;
}

/** What the policy decided to do. */
export type Action = ToolCall | FinalAnswer;

/** A function call, as the server of a model returns it. The arguments are the text that the model wrote, JSON or not. */
export interface FunctionCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** A function that is offered to a model. */
export interface FunctionSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** One turn as the policy remembers it. */
export interface PastTurn {
  readonly action: Action | undefined;
  readonly result: ToolResult | undefined;
  readonly text: string;
  /** Generated tokens; undefined counts as none. */
  readonly tokens?: number;
  /** For a model that calls functions: every call, including those that were not carried out. `text` ends with them too. */
  readonly calls?: readonly FunctionCall[];
  /** Why there is no call, as in PolicyTurn. */
  readonly withoutCall?: WithoutCall;
  /** Set when a memory has dropped the text of a page: what it keeps of each piece that was read. */
  readonly pieces?: readonly string[];
}

/** The status of a turn without a call: reading a page is ok, output without a call is an error. */
export interface WithoutCall {
  readonly status: ToolResult['status'];
  /** Empty when ok; else a short slug. One that begins with `model_` means that nothing was generated. */
  readonly errorType: string;
}

/** Everything that a policy may see. The gold answers are not in it. */
export interface Observation {
  readonly question: string;
  readonly turn: number;
  readonly maxTurns: number;
  readonly history: readonly PastTurn[];
  /** When the trajectory was requested, UTC ms: determines the date in prompts, and is the same at every turn. */
  readonly askedAt?: number;
  /** True when the limits leave no room for a turn after this one. */
  readonly final?: boolean;
  /** Tokens that the limit of the trajectory leaves. */
  readonly tokensLeft?: number;
  /** What the prompt says about the question: that it is valid, or that it may be called invalid; by default nothing. */
  readonly askedAs?: 'valid' | 'open';
}

/** What the built-in policy saw and chose, for the learner. */
export interface RankerDecision {
  /** candidates x width, row-major. */
  readonly features: Float32Array;
  readonly candidates: number;
  readonly width: number;
  readonly chosen: number;
  /** Natural log of the probability with which `chosen` was sampled. */
  readonly logprob: number;
  readonly entropy: number;
}

/** What the model's server reports about a generation, for training on it. */
export interface GenerationSource {
  /** Empty when the server reports none, like every text here. */
  readonly requestId: string;
  /** All tokens of the prompt; empty when the server reports none. */
  readonly promptIds: readonly number[];
  /** Where each completion token ends in the text, bytes of its UTF-8; empty when unknown. */
  readonly tokenEnds: readonly number[];
  readonly logprobsKind: string;
  /** Sampling parameters as they were sent, JSON. */
  readonly sampling: string;
  readonly model: string;
  readonly tokenizerSha256: string;
  readonly engine: string;
}

export interface PolicyTurn {
  readonly action: Action | undefined;
  /** What the model wrote, tags included. */
  readonly text: string;
  /** Versions behind the completion tokens, pinned when the request was sent; -1 = unknown. */
  readonly spans: readonly { readonly version: number; readonly tokens: number }[];
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly finishReason: string;
  readonly decision: RankerDecision | undefined;
  /** Set for a model that calls functions. */
  readonly calls?: readonly FunctionCall[];
  /** Whether the turn follows the format; by default determined from its text. */
  readonly formatOk?: boolean;
  /** For a turn without an action; default: an error of the type no_action. */
  readonly withoutCall?: WithoutCall;
  /** Ids and log-probabilities of the completion tokens, if the model reports them; both empty or of the same length. */
  readonly tokenIds?: readonly number[];
  readonly logprobs?: readonly number[];
  /** Set for a model behind a server. */
  readonly source?: GenerationSource;
  /** Tokens that count against the limit of the trajectory after this turn; default: its prompt and completion tokens. */
  readonly spentTokens?: number;
  /** Set for a policy that uses the network. */
  readonly timing?: CallTiming & { readonly firstTokenMs?: number };
  /** The stop string that ended the generation, if its server reports it. */
  readonly stopText?: string;
  /** True when the next turn has no room in the context of the model: the attempt ends as max_tokens. */
  readonly outOfRoom?: boolean;
}

export interface DecideOptions {
  readonly decoding: 'sample' | 'greedy';
  /** Uniform in [0, 1); the source of every random choice of the turn. */
  readonly random: () => number;
  /** Version to use, or -1 for the newest that is known. */
  readonly version: number;
  readonly signal: AbortSignal;
}

/** Decides one turn. */
export interface Policy {
  readonly name: string;
  decide(observation: Observation, options: DecideOptions): Promise<PolicyTurn>;
}
