import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import { bodyOf } from '../../../schemas/framing.ts';
import type { LogReader, OutgoingEvent } from '../../../streams/core/ports.ts';
import { advance, emptyChain } from '../../../streams/ledger/chain.ts';
import { createEventReader } from '../../registry/event-reader.ts';
import { randomEvent, seeded } from '../../testing/events.ts';
import { MemoryLog } from '../../testing/memory-log.ts';
import { ledgersIn } from './ledger.ts';

const RUN = 'run-a';
const codec = createCodec();
const weightsOf = (version: number): Buffer => Buffer.from(`weights ${version}`);
const hashOf = (version: number): string => createHash('sha256').update(weightsOf(version)).digest('hex');

/** A run that publishes the next version on request: the entry and the weights in one transaction, as in the trainer. */
async function startRun() {
  const log = new MemoryLog();
  const writer = await log.transactional('trainer');
  let [head, version] = [emptyChain, -1];
  const next = async (): Promise<void> => {
    version += 1;
    const type = version === 0 ? 'RunStarted' : 'StepCompleted';
    const { resume } = randomEvent('StepCompleted', seeded(version));
    const places = { version_before: version - 1, version_after: version };
    const step = { step: version, ...places, trajectories: [], batch_id: '', resume: { ...resume, open_groups: -1 } };
    const entry = {
      ...{ ...randomEvent(type, seeded(version)), ...(version === 0 ? {} : step), run_id: RUN },
      ...{ weights_sha256: hashOf(version), sequence: head.sequence, previous_sha256: head.previousSha256 },
    };
    head = advance(head, bodyOf(codec.encode(type, entry)));
    const weights = { run_id: RUN, version, parent: version - 1, uri: '', weights: weightsOf(version), sha256: hashOf(version) };
    const policy = { ...randomEvent('PolicyPublished', seeded(version)), ...weights };
    const events = [
      { type, key: RUN, event: entry },
      { type: 'PolicyPublished', key: RUN, event: policy },
    ];
    await writer.commit({ events: events as unknown as readonly OutgoingEvent[] });
  };
  await next();
  await next();
  return { log, next };
}

describe('verifying the ledger of a run that continues', () => {
  it.each([1, 2, 3])('accepts a step that is committed after read %i of the log', async (when) => {
    const { log, next } = await startRun();
    let reads = 0;
    const inner = log.reader();
    const reader: LogReader = {
      ...inner,
      readToEnd: async (topic, options) => {
        await inner.readToEnd(topic, options);
        reads += 1;
        if (reads === when) await next();
      },
    };
    const found = await ledgersIn({ reader, events: createEventReader(codec, { byId: async () => undefined }) }, undefined);
    expect(found).toMatchObject([{ run: RUN, report: { ok: true, problems: [] } }]);
  });
});
