// Ports of the rollout side: what decides a turn, and what a turn may call.

export interface ToolItem {
  readonly url: string;
  readonly title: string;
}

/** Where the time of a call over the network went, ms. */
export interface CallTiming {
  /** Wait for a place among our own calls. */
  readonly queueMs: number;
  /** Tries before the last one. */
  readonly retries: number;
  /** Failed tries and the waits behind them. */
  readonly retryMs: number;
  /** The last try, from sending to the end of the answer. */
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
  /** Of a tool that asks over the network. */
  readonly timing?: CallTiming;
}

/** One tool of the agent. `argument` is the query of a search, the URL of an access, and what a further tool says it is. */
export interface Tool {
  readonly name: string;
  /** How a prompt describes it; search and access need no description. */
  readonly usage?: string;
  call(argument: string, signal: AbortSignal): Promise<ToolResult>;
}

/** A call of one of the two tools that every agent has. */
export type BaseCall = { readonly tool: 'search'; readonly query: string } | { readonly tool: 'access'; readonly url: string };

/** A call of any tool; one beside search and access goes by its name. */
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
  /** Tokens that were written; undefined counts as none. */
  readonly tokens?: number;
  /** Of a model that calls functions: every call that it made, those that were not carried out too. They end `text` as well. */
  readonly calls?: readonly FunctionCall[];
  /** Why there is no call, as PolicyTurn has it. */
  readonly withoutCall?: WithoutCall;
  /** Set where a memory let the text of a page go: what it keeps of each piece that was read. */
  readonly pieces?: readonly string[];
}

/** What a turn amounts to that calls nothing: reading a page is ok, output without a call is an error. */
export interface WithoutCall {
  readonly status: ToolResult['status'];
  /** Empty when ok; else a short slug. One that begins with `model_` says that nothing was generated. */
  readonly errorType: string;
}

/** All that a policy may look at. The gold answers are not in it. */
export interface Observation {
  readonly question: string;
  readonly turn: number;
  readonly maxTurns: number;
  readonly history: readonly PastTurn[];
  /** When the trajectory was asked for, UTC ms: the date that a prompt may name, the same at every turn. */
  readonly askedAt?: number;
  /** True when the limits leave no room for a turn after this one. */
  readonly final?: boolean;
  /** Tokens that the limit of the trajectory leaves. */
  readonly tokensLeft?: number;
  /** What the prompt says of the question: that it is valid, or that it may be called invalid; nothing unless it is given. */
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

/** What the server of a model says of a generation, for those who train on it. */
export interface GenerationSource {
  /** Empty when it names none, as each text here. */
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
  /** Of a model that calls functions. */
  readonly calls?: readonly FunctionCall[];
  /** Whether the turn keeps to the format; its text decides unless it is given. */
  readonly formatOk?: boolean;
  /** Of a turn without an action; an error of the type no_action unless it is given. */
  readonly withoutCall?: WithoutCall;
  /** Of the completion tokens, where the model tells; both empty or of one length. */
  readonly tokenIds?: readonly number[];
  readonly logprobs?: readonly number[];
  /** Of a model behind a server. */
  readonly source?: GenerationSource;
  /** Tokens that count against the limit of the trajectory after this turn; prompt and completion unless it is given. */
  readonly spentTokens?: number;
  /** Of a policy that asks over the network. */
  readonly timing?: CallTiming & { readonly firstTokenMs?: number };
  /** The stop string that ended the generation, where its server says. */
  readonly stopText?: string;
  /** True when the next turn has no room in the context of the model: the attempt ends as max_tokens. */
  readonly outOfRoom?: boolean;
}

export interface DecideOptions {
  readonly decoding: 'sample' | 'greedy';
  /** Uniform in [0, 1); every random choice of the turn takes from it. */
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
