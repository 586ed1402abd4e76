// The format of decisions in the replay buffer: one block of bytes, without the features that are zero. Most features are zero, so a
// trajectory takes a fraction of its size in the learner. The encoding is lossless, bit for bit.
import { countOf, type Decisions } from './decisions.ts';
import { numberAt } from './number-at.ts';

/** Numbers of decisions, rows and kept features, as uint32, and four bytes of padding for alignment. */
const HEADER_BYTES = 16;

const wordsOf = (width: number): number => Math.ceil(width / 32);

interface Sizes {
  readonly count: number;
  readonly rows: number;
  readonly width: number;
}

/** The arrays of a block, as views of its bytes. */
function viewsOf(block: ArrayBuffer, { count, rows, width }: Sizes) {
  const masks = HEADER_BYTES + count * 24;
  return {
    logprobs: new Float64Array(block, HEADER_BYTES, count),
    signals: new Float64Array(block, HEADER_BYTES + count * 8, count),
    /** Number of rows of each decision. */
    sizes: new Int32Array(block, HEADER_BYTES + count * 16, count),
    chosen: new Int32Array(block, HEADER_BYTES + count * 20, count),
    /** Bit i of a row: feature i is kept. */
    masks: new Uint32Array(block, masks, rows * wordsOf(width)),
    kept: new Uint32Array(block, masks + rows * wordsOf(width) * 4),
  };
}

/** Packs the decisions `from` to `to` (exclusive) into a block. */
export function packDecisions(decisions: Decisions, from = 0, to = countOf(decisions)): Uint8Array {
  const { width, features, starts } = decisions;
  const [firstRow, lastRow] = [numberAt(starts, from), numberAt(starts, to)];
  const bits = new Uint32Array(features.buffer, features.byteOffset + firstRow * width * 4, (lastRow - firstRow) * width);
  const nonzero = bits.reduce((sum, value) => (value === 0 ? sum : sum + 1), 0);
  const [count, rows] = [to - from, lastRow - firstRow];
  const block = new ArrayBuffer(HEADER_BYTES + count * 24 + (rows * wordsOf(width) + nonzero) * 4);
  new Uint32Array(block, 0, 3).set([count, rows, nonzero]);
  const views = viewsOf(block, { count, rows, width });
  views.logprobs.set(decisions.logprobs.subarray(from, to));
  views.signals.set(decisions.signals.subarray(from, to));
  views.chosen.set(decisions.chosen.subarray(from, to));
  for (let i = 0; i < count; i += 1) views.sizes[i] = numberAt(starts, from + i + 1) - numberAt(starts, from + i);
  let kept = 0;
  for (let at = 0; at < bits.length; at += 1) {
    const value = bits[at] ?? 0;
    if (value === 0) continue;
    const word = Math.floor(at / width) * wordsOf(width) + ((at % width) >>> 5);
    views.masks[word] = (views.masks[word] ?? 0) | (1 << ((at % width) & 31));
    views.kept[kept] = value;
    kept += 1;
  }
  return new Uint8Array(block);
}

/** The bytes in a buffer of their own, as views need it; copied only if necessary. */
const bufferOf = (bytes: Uint8Array): ArrayBuffer =>
  bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : Uint8Array.from(bytes).buffer;

/** The features, including the zeros that were left out. */
function featuresOf({ masks, kept: values }: ReturnType<typeof viewsOf>, { rows, width }: Sizes): Float32Array {
  const features = new Float32Array(rows * width);
  const bits = new Uint32Array(features.buffer);
  let kept = 0;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const mask = masks[row * wordsOf(width) + (column >>> 5)] ?? 0;
      if (((mask >>> (column & 31)) & 1) === 0) continue;
      bits[row * width + column] = values[kept] ?? 0;
      kept += 1;
    }
  }
  return features;
}

/** The inverse of packDecisions. */
export function unpackDecisions(bytes: Uint8Array, width: number): Decisions {
  const block = bufferOf(bytes);
  const [count = 0, rows = 0] = new Uint32Array(block, 0, 3);
  const views = viewsOf(block, { count, rows, width });
  const starts = new Int32Array(count + 1);
  views.sizes.forEach((size, i) => (starts[i + 1] = numberAt(starts, i) + size));
  return {
    width,
    features: featuresOf(views, { count, rows, width }),
    starts,
    chosen: views.chosen,
    logprobs: views.logprobs,
    signals: views.signals,
  };
}
