// The topic that both sinks of the benchmark read. It has only turns, because ClickHouse's Kafka engine takes one event type per topic.
import { createLoad } from '../../producers/load/load.ts';
import { defaultShape } from '../../producers/load/shape.ts';
import { writeLoad } from '../../producers/load/write-load.ts';
import type { Codec } from '../../schemas/codec.ts';
import { encoderOf } from '../../schemas/encode-as.ts';
import { publishedSchemas } from '../../schemas/generated/events.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import type { Compression } from '../kafka/records/compression.ts';
import { pause } from '../lifecycle/waiting.ts';
import type { BenchSite } from './local-bench.ts';

/** The schema versions in which the turns of a topic are encoded. */
export type TurnVersions = 'newest' | 'oldest' | 'mixed';

export interface SinkTopic {
  readonly namespace: string;
  readonly partitions: number;
  readonly turnBytes: number;
  readonly rows: number;
}

/** A codec that encodes turns in these schema versions, in rotation. */
function codecFor(codec: Codec, versions: TurnVersions): Codec {
  if (versions === 'newest') return codec;
  const published = publishedSchemas.filter(({ name }) => name === 'TurnRecorded');
  const encoders = (versions === 'oldest' ? published.slice(0, 1) : published).map(encoderOf);
  let next = 0;
  return {
    ...codec,
    encode(type, event) {
      next = (next + 1) % encoders.length;
      return encoders[next]?.(event) ?? codec.encode(type, event);
    },
  };
}

interface WantedTopic extends Omit<SinkTopic, 'rows'> {
  readonly turns: number;
  readonly versions?: TurnVersions;
  readonly compression: Compression;
}

/** Writes at least `turns` turns; `rows` of the result is the exact number. */
export async function prepareSinkTopic(site: BenchSite, wanted: WantedTopic): Promise<SinkTopic> {
  const { namespace, partitions, turnBytes, turns, compression, versions = 'newest' } = wanted;
  const settings = { partitionsRollouts: partitions, kafkaCompression: compression };
  const connection = await site.connect(namespace, settings, codecFor(site.codec, versions));
  const load = createLoad({
    ...{ runId: 'synthetic-sink', purpose: 'train', seed: 1, producer: 'load/1', startMs: Date.now(), turns },
    ...{ shape: { ...defaultShape, turnBytes }, trajectories: Infinity, open: 0, places: 512 },
  });
  const onlyTurns = {
    next(): OutgoingEvent | undefined {
      for (let event = load.next(); event !== undefined; event = load.next()) if (event.type === 'TurnRecorded') return event;
      return undefined;
    },
  };
  const now = (): number => performance.now();
  const counts = await writeLoad({ load: onlyTurns, writer: await connection.writer(), rate: 0, signal: site.signal, now, pause });
  site.signal.throwIfAborted();
  await connection.close();
  return { namespace, partitions, turnBytes, rows: counts.turns };
}
