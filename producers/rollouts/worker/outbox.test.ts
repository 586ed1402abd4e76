import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Appended, EventWriter, OutgoingEvent } from '../../../streams/core/ports.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { outgoing, randomEvent, seeded } from '../../../infra/testing/events.ts';
import { createRecordingLogger, silentLogger } from '../../../infra/testing/logger.ts';
import { createOutbox } from './outbox.ts';
import { systemClock } from '../../../infra/lifecycle/clock.ts';

const event = (group: string, sequence: number): OutgoingEvent =>
  outgoing('TurnRecorded', randomEvent('TurnRecorded', seeded(1), { group_id: group, sequence }));
const sequenceOf = (each: OutgoingEvent): number => ('sequence' in each.event ? each.event.sequence : -1);
const away = () => new PlatformError('KAFKA_UNAVAILABLE', 'appending: no broker answered');

/** A writer that behaves as `onAppend` says and remembers the events it accepted. */
function scripted(onAppend: (events: readonly OutgoingEvent[], call: number) => Promise<void> | void) {
  const appended: OutgoingEvent[] = [];
  const sizes: number[] = [];
  let inFlight = 0;
  let mostInFlight = 0;
  const writer: EventWriter = {
    async append(events): Promise<readonly Appended[]> {
      inFlight += 1;
      mostInFlight = Math.max(mostInFlight, inFlight);
      try {
        sizes.push(events.length);
        await onAppend(events, sizes.length);
        appended.push(...events);
        return events.map(() => ({ topic: 'rollouts', partition: 0, offset: 0 }));
      } finally {
        inFlight -= 1;
      }
    },
    close: async () => undefined,
  };
  return { writer, appended, sizes, mostInFlight: () => mostInFlight };
}

describe('outbox', () => {
  it('collects events that arrive together into one append, in order', async () => {
    const { writer, appended, sizes } = scripted(() => undefined);
    const outbox = createOutbox({ writer, logger: silentLogger, clock: systemClock, lingerMs: 1 });
    const puts = await Promise.all(Array.from({ length: 50 }, (_, sequence) => outbox.put(event('g', sequence), 100)));
    expect(outbox.pending()).toBe(50);
    await Promise.all(puts.map(({ acked }) => acked));
    expect(appended.map(sequenceOf)).toEqual(Array.from({ length: 50 }, (_, sequence) => sequence));
    expect(sizes).toEqual([50]);
    expect(outbox.pending()).toBe(0);
  });

  it('keeps the order of every producer, loses nothing and never exceeds its bounds, whatever fails', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(12), { minLength: 1, maxLength: 6 }),
        fc.array(fc.boolean(), { maxLength: 30 }),
        fc.integer({ min: 1, max: 8 }),
        async (counts, failures, maxPendingEvents) => {
          let outstanding = 0;
          const { writer, appended, mostInFlight } = scripted((events, call) => {
            expect(events.length).toBeLessThanOrEqual(maxPendingEvents);
            expect(events.length).toBeLessThanOrEqual(3);
            if (failures[call - 1] === true) throw away();
          });
          const outbox = createOutbox({
            writer,
            logger: silentLogger,
            clock: systemClock,
            lingerMs: 0,
            maxPendingEvents,
            maxAppendBytes: 300,
            retryMs: [0, 1],
          });
          await Promise.all(
            counts.map(async (count, producer) => {
              let last: Promise<void> | undefined;
              for (let sequence = 0; sequence < count; sequence += 1) {
                outstanding += 1;
                const { acked } = await outbox.put(event(`g${producer}`, sequence), 100);
                last = acked.then(() => {
                  outstanding -= 1;
                });
              }
              await last;
            }),
          );
          for (const [producer, count] of counts.entries()) {
            const own = appended.filter(({ key }) => key === `g${producer}`).map(sequenceOf);
            expect(own).toEqual(Array.from({ length: count }, (_, sequence) => sequence));
          }
          expect(mostInFlight()).toBeLessThanOrEqual(1);
          expect(outbox.pending()).toBe(0);
          expect(outstanding).toBe(0);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('makes producers wait while too many bytes are outstanding, and lets one large event through', async () => {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const { writer, appended } = scripted(() => gate);
    const outbox = createOutbox({ writer, logger: silentLogger, clock: systemClock, lingerMs: 0, maxPendingBytes: 100 });
    await outbox.put(event('g', 0), 5_000);
    let admitted = false;
    const second = outbox.put(event('g', 1), 10).then(async ({ acked }) => {
      admitted = true;
      await acked;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(admitted).toBe(false);
    open();
    await second;
    expect(appended.map(sequenceOf)).toEqual([0, 1]);
  });

  it('logs once why the log takes no events, and that it takes them again', async () => {
    const logger = createRecordingLogger();
    let troubled: string | undefined;
    const { writer } = scripted((_events, call) => {
      if (call === 3) troubled = outbox.trouble();
      if (call <= 3) throw away();
    });
    const outbox = createOutbox({ writer, logger, clock: systemClock, lingerMs: 0, retryMs: [0, 1] });
    await (
      await outbox.put(event('g', 0), 10)
    ).acked;
    expect(troubled).toContain('no broker answered');
    expect(outbox.trouble()).toBeUndefined();
    expect(logger.lines.map(({ level }) => level)).toEqual(['warn', 'info']);
  });

  it('reports an append that hangs as trouble until it succeeds', async () => {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const { writer } = scripted(() => gate);
    const outbox = createOutbox({ writer, logger: silentLogger, clock: systemClock, lingerMs: 0, slowMs: 1 });
    const { acked } = await outbox.put(event('g', 0), 10);
    while (outbox.trouble() === undefined) await new Promise((resolve) => setImmediate(resolve));
    open();
    await acked;
    expect(outbox.trouble()).toBeUndefined();
  });

  it('rejects everything after a failure that is no outage', async () => {
    const bug = new TypeError('invalid "int"');
    const { writer } = scripted(() => {
      throw bug;
    });
    const outbox = createOutbox({ writer, logger: silentLogger, clock: systemClock, lingerMs: 0, maxPendingEvents: 1 });
    const { acked } = await outbox.put(event('g', 0), 10);
    const waiting = outbox.put(event('g', 1), 10);
    await expect(acked).rejects.toBe(bug);
    await expect(waiting).rejects.toBe(bug);
    await expect(outbox.put(event('g', 2), 10)).rejects.toBe(bug);
  });

  it('gives up at once when it is abandoned during an outage', async () => {
    const { writer, sizes } = scripted(() => {
      throw away();
    });
    const outbox = createOutbox({ writer, logger: silentLogger, clock: systemClock, lingerMs: 0, retryMs: [60_000, 60_000] });
    const { acked } = await outbox.put(event('g', 0), 10);
    const tried = async (): Promise<void> => {
      while (sizes.length === 0 || outbox.trouble() === undefined) await new Promise((resolve) => setImmediate(resolve));
    };
    await tried();
    const reason = new Error('stopping');
    expect(outbox.abandon(reason)).toBe(1);
    await expect(acked).rejects.toBe(reason);
  });
});
