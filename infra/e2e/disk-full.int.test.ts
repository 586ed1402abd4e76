// The disk under a whole local installation fills up: `turnstream up` keeps running and restarts what exits, health reports the reason, and
// no acknowledged data is lost.
import { afterEach, describe, expect, it } from 'vitest';
import { canMountDisk, smallDisk, type SmallDisk } from '../testing/small-disk.ts';
import { command, startUp, testHome, type TestHome, type UpLine } from '../testing/up.ts';

const quick = { TURNSTREAM_GROUP_SIZE: '4', TURNSTREAM_BATCH_GROUPS: '2', TURNSTREAM_LOG_LEVEL: 'error' };
const STEPS = 10;

const stepOf = ({ event, step }: UpLine): number => (event === 'progress' ? (step ?? 0) : 0);
const isKafka = ({ service }: UpLine): boolean => service === 'kafka';

describe.skipIf(!canMountDisk)('a full disk (skipped without root, because the test mounts a tmpfs)', () => {
  let disk: SmallDisk;
  let home: TestHome;
  afterEach(async () => {
    await disk.free();
    await home.remove();
    await disk.remove();
  });

  it('makes `turnstream up` wait, alive but not ready, and continue by itself when there is space again', async () => {
    disk = await smallDisk(400);
    home = await testHome(quick, disk.dir);
    const up = startUp(home, ['--run', 'full', '--steps', String(STEPS), '--no-eval']);
    await up.until((line) => stepOf(line) >= 2);
    const { apiUrl } = up.services();
    await disk.fill();
    await up.until((line) => line.event === 'health' && String(line['detail']).includes('is full; free some'));
    await up.until((line) => line.event === 'exited' && isKafka(line));
    // Kafka is restarted as often as necessary
    await expect.poll(() => up.lines.filter((line) => line.event === 'restarting' && isKafka(line)).length).toBeGreaterThan(3);
    await disk.fill();
    const readiness = await fetch(`${apiUrl}/readyz`);
    expect(readiness.status).toBe(503);
    const detail = await readiness.text();
    expect(detail).toMatch(/kafka is being started again: /);
    expect(detail).toMatch(/up waits: for space: the disk of .* is full/);
    // the free space was measured again after the disk had filled up: before, it was larger
    expect(detail).toMatch(/; (?:\d+ kB|\d\d? MB) free/);
    const before = up.lines.length;
    await disk.free();
    expect(await up.exit, up.stderr()).toBe(0);
    const after = up.lines.slice(before);
    expect(after.find((line) => line.event === 'health')).toMatchObject({ service: 'up', state: 'live' });
    expect(after.at(-1)).toMatchObject({ event: 'summary', run_id: 'full', state: 'finished', steps: STEPS });
    expect(await command(home.env, 'audit')).toMatchObject({ code: 0 });
    expect(await command(home.env, 'ledger', 'verify', '--run', 'full')).toMatchObject({ code: 0 });
  });

  it('is reported when it is full from the start', async () => {
    disk = await smallDisk(50);
    home = await testHome(quick, disk.dir);
    await disk.fill();
    const up = startUp(home, ['--steps', '1']);
    expect(await up.exit).toBe(2);
    expect(up.stderr()).toContain('DISK_FULL');
  });
});
