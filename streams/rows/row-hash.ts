// `batch_sha256` of a batch covers the whole content of its rows. It has two layers: the tokens of a row are hashed once, when its
// trajectory has ended, and a batch is hashed from these hashes. All numbers are little-endian; a text is the count of its UTF-8 bytes as
// uint32, and the bytes; a list is the count of its elements as uint32, and the elements.
//
// tokens = SHA-256 of: text "turnstream tokens 1" · token_ids (int32) · mask (uint8) · logprobs (float32) · version_spans (int32 version,
//   int32 tokens) · turns (int32) · turn_starts (int32) · int32 prompt_len · float32 temperature · text logprobs_kind · uint8 trainable ·
//   text why_not
// batch_sha256 = SHA-256 of: text "turnstream rows 1", and for each row, in order: int32 row · text trajectory_id · int32 attempt ·
//   text group_id · int32 branch · float64 reward · float64 advantage · the 32 bytes of tokens
//
// An unknown temperature is the NaN 7fc00000.
import { createHash, type Hash } from 'node:crypto';
import type { TokenRow } from './row.ts';

/** SHA-256 of the tokens of a row. */
export function tokensHash(row: TokenRow): Buffer {
  const { version_spans } = row;
  const spans = new Int32Array(2 * version_spans.length);
  version_spans.forEach(({ version, tokens }, at) => {
    spans[2 * at] = version;
    spans[2 * at + 1] = tokens;
  });
  const hash = createHash('sha256');
  hash.update(textOf('turnstream tokens 1'));
  addList(hash, row.token_ids);
  addList(hash, row.mask);
  addList(hash, row.logprobs);
  hash.update(wholeOf(version_spans.length)).update(bytesOf(spans));
  addList(hash, row.turns);
  addList(hash, row.turn_starts);
  const numbers = Buffer.alloc(8);
  numbers.writeInt32LE(row.prompt_len, 0);
  numbers.writeFloatLE(row.temperature, 4);
  if (Number.isNaN(row.temperature)) numbers.writeUInt32LE(0x7fc00000, 4);
  hash.update(numbers).update(textOf(row.logprobs_kind));
  return hash
    .update(Buffer.of(row.trainable ? 1 : 0))
    .update(textOf(row.why_not))
    .digest();
}

/** The part of a row that a batch hashes in addition to its tokens. */
type RowHead = Pick<TokenRow, 'row' | 'trajectory_id' | 'attempt' | 'group_id' | 'branch' | 'reward' | 'advantage'>;

/** Hashes a batch, row by row. */
export class BatchHash {
  readonly #hash = createHash('sha256').update(textOf('turnstream rows 1'));

  add(head: RowHead, tokens: Buffer): void {
    const rewards = Buffer.alloc(16);
    rewards.writeDoubleLE(head.reward, 0);
    rewards.writeDoubleLE(head.advantage, 8);
    this.#hash
      .update(wholeOf(head.row))
      .update(textOf(head.trajectory_id))
      .update(wholeOf(head.attempt))
      .update(textOf(head.group_id))
      .update(wholeOf(head.branch))
      .update(rewards)
      .update(tokens);
  }

  /** Hash of the rows so far, hexadecimal. */
  digest(): string {
    return this.#hash.copy().digest('hex');
  }
}

function textOf(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([wholeOf(bytes.length), bytes]);
}

function wholeOf(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

type NumberList = Int32Array | Float32Array | Uint8Array;

const bytesOf = (list: NumberList): Uint8Array => new Uint8Array(list.buffer, list.byteOffset, list.byteLength);

function addList(hash: Hash, list: NumberList): void {
  hash.update(wholeOf(list.length)).update(bytesOf(list));
}
