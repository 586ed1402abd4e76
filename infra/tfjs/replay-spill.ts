// Spills the part of the replay buffer that does not fit into memory to unnamed files. They are unlinked as soon as they are open, so that
// they disappear with the process, however it ends. Blocks are dropped in the order of writing; a full file is closed when its last block
// is dropped. The buffer decides content and order.
import { closeSync, mkdirSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from '../../streams/core/errors.ts';
import { isDiskFull } from '../lifecycle/disk-full.ts';

/** The location of a block on disk. */
export interface Spilled {
  readonly file: SpillFile;
  readonly at: number;
  readonly length: number;
}

interface SpillFile {
  readonly descriptor: number;
  bytes: number;
  blocks: number;
}

export interface Spill {
  write(block: Uint8Array): Spilled;
  read(spilled: Spilled): Uint8Array;
  /** Releases a block. */
  drop(spilled: Spilled): void;
  close(): void;
}

/** A file of this size takes no more blocks. */
const FILE_BYTES = 64 * 2 ** 20;

let opened = 0;

function openFile(directory: string): SpillFile {
  mkdirSync(directory, { recursive: true });
  opened += 1;
  const path = join(directory, `replay-${process.pid}-${opened}`);
  const descriptor = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  return { descriptor, bytes: 0, blocks: 0 };
}

/** Creates files in that directory, which is created with the first block. */
export function createSpill(directory: string, fileBytes = FILE_BYTES): Spill {
  const files = new Set<SpillFile>();
  let current: SpillFile | undefined;
  const end = (file: SpillFile): void => {
    closeSync(file.descriptor);
    files.delete(file);
    if (file === current) current = undefined;
  };
  function put(block: Uint8Array): Spilled {
    if (current === undefined || current.bytes >= fileBytes) {
      current = openFile(directory);
      files.add(current);
    }
    const at = current.bytes;
    for (let done = 0; done < block.length;) done += writeSync(current.descriptor, block, done, block.length - done, at + done);
    current.bytes += block.length;
    current.blocks += 1;
    return { file: current, at, length: block.length };
  }
  return {
    write(block) {
      try {
        return put(block);
      } catch (cause) {
        if (!isDiskFull(cause)) throw cause;
        throw new PlatformError('DISK_FULL', `keeping the replay buffer in ${directory}: the disk is full; lower TURNSTREAM_REPLAY_MB`, {
          cause,
        });
      }
    },
    read({ file, at, length }) {
      const block = new Uint8Array(length);
      for (let done = 0; done < length;) {
        const read = readSync(file.descriptor, block, done, length - done, at + done);
        if (read === 0) throw new RangeError(`reading ${length} bytes of the replay buffer: the file ends after ${done}`);
        done += read;
      }
      return block;
    },
    drop({ file }) {
      file.blocks -= 1;
      if (file.blocks === 0 && file.bytes >= fileBytes) end(file);
    },
    close() {
      for (const file of [...files]) end(file);
    },
  };
}
