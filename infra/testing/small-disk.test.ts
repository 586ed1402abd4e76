import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { canMountDisk, smallDisk, type SmallDisk } from './small-disk.ts';

describe.skipIf(!canMountDisk)('a small disk (skipped without root: it mounts a tmpfs)', () => {
  let disk: SmallDisk;
  afterEach(() => disk.remove());

  it('is full after it was filled, and takes files again after it was freed', async () => {
    disk = await smallDisk(2);
    const file = join(disk.dir, 'file');
    await disk.fill();
    expect(await disk.freeBytes()).toBe(0);
    await expect(writeFile(file, 'x')).rejects.toMatchObject({ code: 'ENOSPC' });
    await disk.free();
    await writeFile(file, Buffer.alloc(100_000));
    await disk.fill();
    expect(await disk.freeBytes()).toBe(0);
  });
});
