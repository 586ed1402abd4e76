import { describe, expect, it } from 'vitest';
import { crashPoints, inStep, reachNothing, type CrashPoint } from '../../streams/core/crash-points.ts';
import { loadConfig } from '../config/load.ts';
import { crashAtPattern, reachFor } from './crash-at.ts';

const struckBy = (crashAt: string, reached: readonly CrashPoint[]): string[] => {
  const struck: string[] = [];
  const reach = reachFor(crashAt, (how, point) => struck.push(`${how} at ${point}`));
  for (const point of reached) {
    reach(point);
    if (struck.length > 0) struck.push(`after ${reached.indexOf(point)}`);
    if (struck.length > 0) break;
  }
  return struck;
};

describe('a crash point', () => {
  it('does nothing in production', () => {
    expect(reachFor('')).toBe(reachNothing);
    expect(loadConfig({}).crashAt).toBe('');
  });

  it('strikes the first time, the n-th time, after another, with either signal', () => {
    expect(struckBy('sink.insert.mid', ['sink.intent.before', 'sink.insert.mid'])).toEqual(['SIGKILL at sink.insert.mid', 'after 1']);
    expect(struckBy('sink.insert.mid:3', ['sink.insert.mid', 'sink.insert.mid'])).toEqual([]);
    expect(struckBy('sink.insert.mid:2', ['sink.insert.mid', 'sink.insert.mid'])[0]).toBe('SIGKILL at sink.insert.mid');
    expect(struckBy('sink.commit.after:1:freeze', ['sink.commit.after'])[0]).toBe('SIGSTOP at sink.commit.after');
    const after = 'trainer.step.trained,trainer.commit.end.before';
    expect(struckBy(after, ['trainer.commit.end.before', 'trainer.step.trained'])).toEqual([]);
    expect(struckBy(after, ['trainer.step.trained', 'trainer.commit.end.before'])[0]).toBe('SIGKILL at trainer.commit.end.before');
  });

  it('strikes once', () => {
    const struck: string[] = [];
    const reach = reachFor('worker.claim.after', (_how, point) => struck.push(point));
    for (let time = 0; time < 3; time += 1) reach('worker.claim.after');
    expect(struck).toEqual(['worker.claim.after']);
  });

  it('has a name that the configuration accepts; other names are rejected', () => {
    for (const point of crashPoints) expect(loadConfig({ TURNSTREAM_CRASH_AT: `${point}:2` }).crashAt).toBe(`${point}:2`);
    for (const wrong of ['sink', 'sink.insert.mid:0', 'sink.insert.mid,', 'sink.insert.mid:freeze:2', 'sinkxinsert.mid']) {
      expect(crashAtPattern.test(wrong), wrong).toBe(false);
      expect(() => loadConfig({ TURNSTREAM_CRASH_AT: wrong })).toThrow('TURNSTREAM_CRASH_AT');
    }
  });
});

describe('a step', () => {
  it('has a point before and one after its work, which begins at once; if the work fails, the second is not reached', async () => {
    const seen: string[] = [];
    const reach = (point: CrashPoint): void => void seen.push(point);
    const running = inStep(reach, 'sink.commit', async () => {
      seen.push('work');
      return 7;
    });
    expect(seen).toEqual(['sink.commit.before', 'work']);
    expect(await running).toBe(7);
    expect(seen.at(-1)).toBe('sink.commit.after');
    await expect(inStep(reach, 'worker.claim', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    expect(seen.at(-1)).toBe('worker.claim.before');
  });
});
