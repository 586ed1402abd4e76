// Rows: the training data of a language model. A row is one branch of a trajectory, token by token as the engine read and wrote it. Rows are
// made one at a time, so memory holds the turns of one attempt and one row, however large the batch is.
import { createHash } from 'node:crypto';
import { branchesOf, linksOf, type Branch, type BranchFlaw, type BranchLink } from './branches.ts';
import type { PolicySpan } from '../../schemas/generated/events.ts';
import type { TokenTrajectory, TokenTurn } from './token-turn.ts';

/** Why a row must not be trained on. */
type WhyNot = BranchFlaw | 'prompt_differs' | 'no_logprobs' | 'mixed_logprobs' | 'nothing_sampled' | 'not_for_training';

/** Lists that have an entry per token are as long as `token_ids`, which is empty when the tokens are unknown. */
export interface TokenRow {
  /** 0-based, within its batch. */
  readonly row: number;
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly group_id: string;
  /** 0-based, within its trajectory. */
  readonly branch: number;
  readonly token_ids: Int32Array<ArrayBuffer>;
  /** 1 = sampled by the policy in this branch and trained on. */
  readonly mask: Uint8Array<ArrayBuffer>;
  /** Log probabilities of completion tokens; 0 elsewhere. Empty if any of them is unknown. */
  readonly logprobs: Float32Array<ArrayBuffer>;
  /** Policy versions of all tokens, in order; -1 = prompt or unknown. */
  readonly version_spans: readonly PolicySpan[];
  /** Numbers of the turns in the row. */
  readonly turns: Int32Array<ArrayBuffer>;
  /** Index of the first completion token of each turn. */
  readonly turn_starts: Int32Array<ArrayBuffer>;
  /** Number of tokens before the first completion. */
  readonly prompt_len: number;
  readonly reward: number;
  readonly advantage: number;
  /** NaN = unknown, or different between turns. */
  readonly temperature: number;
  /** raw, processed, or empty = unknown. */
  readonly logprobs_kind: string;
  readonly trainable: boolean;
  /** Empty for a trainable row. */
  readonly why_not: WhyNot | '';
}

/** The rows of an attempt, numbered from `first`. */
export function* rowsOf(trajectory: TokenTrajectory, first: number): Generator<TokenRow, void, undefined> {
  for (const branch of branchesOf(trajectory.turns).branches) yield rowOf(trajectory, branch, first + branch.number);
}

function rowOf(trajectory: TokenTrajectory, branch: Branch, row: number): TokenRow {
  const { trajectoryId, attempt, groupId, reward, advantage } = trajectory;
  const links = linksOf(branch);
  const own = links.filter(({ isOwn }) => isOwn);
  const known = branch.tip.flaw === undefined;
  const tokens = known ? tokensOf(links, branch.tip.end) : NO_TOKENS;
  const whyNot = branch.tip.flaw ?? whyNotOf(trajectory, own, tokens);
  return {
    ...{ row, trajectory_id: trajectoryId, attempt, group_id: groupId, branch: branch.number },
    ...tokens,
    turns: Int32Array.from(own, ({ turn }) => turn.turn),
    turn_starts: known ? Int32Array.from(own, ({ completionAt }) => completionAt) : new Int32Array(0),
    prompt_len: known ? (own[0]?.completionAt ?? 0) : 0,
    ...{ reward, advantage },
    temperature: temperatureOf(own),
    logprobs_kind: own[0]?.turn.logprobs_kind ?? '',
    trainable: whyNot === undefined,
    why_not: whyNot ?? '',
  };
}

type RowTokens = Pick<TokenRow, 'token_ids' | 'mask' | 'logprobs' | 'version_spans'>;

const NO_TOKENS: RowTokens = { token_ids: new Int32Array(0), mask: new Uint8Array(0), logprobs: new Float32Array(0), version_spans: [] };

function tokensOf(links: readonly BranchLink[], length: number): RowTokens {
  const bytes = new ArrayBuffer(9 * length);
  const token_ids = new Int32Array(bytes, 0, length);
  const logprobs = new Float32Array(bytes, 4 * length, length);
  const mask = new Uint8Array(bytes, 8 * length);
  const version_spans: PolicySpan[] = [];
  let isComplete = true;
  for (const { turn, promptAt, completionAt, end, isOwn } of links) {
    turn.prompt_ids.copyTo(token_ids, promptAt, Math.min(end, completionAt) - promptAt);
    const sampled = Math.max(0, end - completionAt);
    if (sampled > 0) turn.token_ids.copyTo(token_ids, completionAt, sampled);
    addSpan(version_spans, -1, isOwn ? completionAt - promptAt : end - promptAt);
    if (!isOwn) continue;
    mark(mask.subarray(completionAt, end), turn);
    turn.logprobs.copyTo(logprobs, completionAt, Math.min(sampled, turn.logprobs.length));
    isComplete &&= turn.logprobs.length >= sampled;
    addSpansOf(version_spans, turn);
  }
  return { token_ids, mask, logprobs: isComplete ? logprobs : NO_TOKENS.logprobs, version_spans };
}

function mark(mask: Uint8Array, { loss_mask }: TokenTurn): void {
  if (loss_mask.length === 0) return void mask.fill(1);
  const trained = new Int32Array(mask.length);
  loss_mask.copyTo(trained, 0, Math.min(mask.length, loss_mask.length));
  for (let at = 0; at < mask.length; at += 1) mask[at] = trained[at] === 0 ? 0 : 1;
}

/** Adds the versions of a completion. Tokens that no span covers have an unknown version; spans that extend past the tokens are ignored. */
function addSpansOf(spans: PolicySpan[], { policy_spans, token_ids }: TokenTurn): void {
  let left = token_ids.length;
  for (const { version, tokens } of policy_spans) {
    const counted = Math.max(0, Math.min(tokens, left));
    left -= counted;
    addSpan(spans, version, counted);
  }
  addSpan(spans, -1, left);
}

function addSpan(spans: PolicySpan[], version: number, tokens: number): void {
  const last = spans.at(-1);
  if (tokens === 0) return;
  if (last?.version === version) spans[spans.length - 1] = { version, tokens: last.tokens + tokens };
  else spans.push({ version, tokens });
}

function whyNotOf({ purpose }: TokenTrajectory, own: readonly BranchLink[], tokens: RowTokens): WhyNot | undefined {
  if (purpose !== 'train') return 'not_for_training';
  if (!promptsFit(own, tokens.token_ids)) return 'prompt_differs';
  if (!tokens.mask.includes(1)) return 'nothing_sampled';
  if (tokens.logprobs.length < tokens.token_ids.length) return 'no_logprobs';
  return own.some(({ turn }) => turn.logprobs_kind !== own[0]?.turn.logprobs_kind) ? 'mixed_logprobs' : undefined;
}

/** Whether each prompt hashes to what its turn says: all of them together cost one pass over the tokens. */
function promptsFit(own: readonly BranchLink[], tokens: Int32Array): boolean {
  const bytes = new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength);
  const hash = createHash('sha256');
  let end = 0;
  for (const { turn, completionAt } of own) {
    if (turn.prompt_sha256 === '') continue;
    hash.update(bytes.subarray(end, 4 * completionAt));
    end = 4 * completionAt;
    if (hash.copy().digest('hex') !== turn.prompt_sha256) return false;
  }
  return true;
}

function temperatureOf(own: readonly BranchLink[]): number {
  const texts = new Set(own.map(({ turn }) => turn.sampling));
  const found = new Set([...texts].map(temperatureIn));
  const [temperature = NaN] = found;
  return found.size === 1 ? temperature : NaN;
}

function temperatureIn(sampling: string): number {
  try {
    const { temperature } = JSON.parse(sampling) as { readonly temperature?: unknown };
    return typeof temperature === 'number' ? temperature : NaN;
  } catch {
    return NaN;
  }
}
