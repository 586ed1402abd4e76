// GET /v1/live: the log as server-sent events, from now on or from a client's last position.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { publishedSchemas, type EventTopic } from '../../../schemas/generated/events.ts';
import { topicOf } from '../../../schemas/subjects.ts';
import { isPlatformError, PlatformError } from '../../../streams/core/errors.ts';
import type { EventReader, Logger, LogReader, Position, Store } from '../../../streams/core/ports.ts';
import { batchesOf, type ReadRange } from '../../../streams/core/read-log.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';
import { answers } from '../columns.ts';
import { queryOf } from '../list.ts';
import { assertRun, runParams } from '../route-kit.ts';
import { createLiveClient, type LiveClient, type LiveFilter } from './client.ts';
import { createFollower, decodeBatch, liveTopics, type Follower, type Listener } from './follower.ts';
import { parsePositions, positionsPattern, type LivePositions } from './positions.ts';
import { EVENT_STREAM, startStream, wireOf } from './wire.ts';

export interface LiveDeps {
  /** Used to check whether a run exists. */
  readonly store: Store;
  readonly log: LogReader;
  readonly events: EventReader;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Interval of the comments that keep proxies from closing an idle stream. */
  readonly heartbeatMs: number;
  readonly maxClients: number;
  readonly maxBufferedBytes: number;
}

const eventTypes = [...new Set(publishedSchemas.map(({ name }) => name))];

const eventId = { maxLength: 16_000, pattern: positionsPattern(liveTopics) };

const schema = {
  tags: ['live'],
  operationId: 'followEvents',
  summary: 'Events as they are written, as server-sent events',
  description:
    'The name of each event is its type; its id has the positions to resume from (send it as Last-Event-ID). Other names are connected, ' +
    'fell-behind, and closing, each with the positions to resume from, and gap, where the log no longer has some of the missed events. ' +
    'A client that reads too slowly gets fell-behind after a complete event, and the stream ends.',
  querystring: queryOf({
    run: Type.Optional(runParams.properties.run),
    type: Type.Optional(Type.Array(Type.Enum(eventTypes), { maxItems: 50 })),
    last_event_id: Type.Optional(Type.String({ ...eventId, description: 'For clients that cannot send the header, which has priority.' })),
  }),
  headers: Type.Object({ 'last-event-id': Type.Optional(Type.String({ ...eventId, description: 'Id of the event to resume after.' })) }),
  produces: ['text/event-stream'],
  response: answers(Type.String(), 'A stream of server-sent events.'),
};

/** All clients share one follower; all are told to reconnect when the server stops. */
export const liveRoutes: FastifyPluginAsyncTypebox<LiveDeps> = async (app, deps) => {
  const hub: Hub = { deps, follower: createFollower(deps), clients: new Set() };
  const beat = setInterval(() => {
    for (const client of hub.clients) client.heartbeat();
  }, deps.heartbeatMs);
  beat.unref();
  app.addHook('preClose', async () => {
    clearInterval(beat);
    for (const client of hub.clients) client.finish('the server stops; connect again with Last-Event-ID');
    await hub.follower.close();
  });

  app.get('/v1/live', { schema }, async (request, reply) => {
    if (hub.clients.size >= deps.maxClients) {
      throw new PlatformError('RATE_LIMITED', `opening a live stream: ${deps.maxClients} are open; close one or try again later`);
    }
    if (request.method === 'HEAD') return reply.type(EVENT_STREAM).send();
    const { run, type, last_event_id } = request.query;
    if (run !== undefined) await assertWritten(deps, run);
    const last = request.headers['last-event-id'] ?? last_event_id;
    const resume = last === undefined || last === '' ? undefined : parsePositions(last, liveTopics);
    await serve(hub, { reply, resume, filter: { run, types: type ?? [] } });
  });
};

/** Throws NOT_FOUND for a run that is in no table. During an outage of the store, the stream starts without this check. */
async function assertWritten({ store, logger }: LiveDeps, run: string): Promise<void> {
  try {
    await assertRun(store, run);
  } catch (error) {
    if (isPlatformError(error, 'NOT_FOUND')) throw error;
    logger.debug({ err: error, run }, 'a live stream starts without knowing its run');
  }
}

interface Hub {
  readonly deps: LiveDeps;
  readonly follower: Follower;
  readonly clients: Set<LiveClient>;
}

interface Visit {
  readonly reply: FastifyReply;
  readonly resume: readonly Position[] | undefined;
  readonly filter: LiveFilter;
}

async function serve(hub: Hub, { reply, resume, filter }: Visit): Promise<void> {
  const { deps, follower, clients } = hub;
  const client = createLiveClient({ wire: wireOf(reply.raw), filter, maxBufferedBytes: deps.maxBufferedBytes });
  const listener: Listener = {
    onBatch: (batch) => {
      client.receive(batch);
    },
  };
  clients.add(client);
  const leave = (): void => {
    clients.delete(client);
    deps.metrics.set('api_live_clients', {}, clients.size);
    void follower.leave(listener);
  };
  reply.raw.once('close', leave);
  deps.metrics.set('api_live_clients', {}, clients.size);
  const live = await follower.join(listener).catch((error: unknown) => {
    reply.raw.off('close', leave);
    leave();
    throw error;
  });
  if (reply.raw.destroyed) {
    leave();
    return;
  }
  startStream(reply);
  client.startAt(startOf(live, resume));
  if (resume === undefined) client.goLive();
  else await catchUp(deps, client, topicsOf(filter));
}

/** The topics of the selected types: the client missed nothing in the others. */
const topicsOf = ({ types }: LiveFilter): readonly EventTopic[] =>
  types.length === 0 ? liveTopics : [...new Set(types.map((type) => topicOf[type]))];

/** Sends the events between the client's positions and the end of the log, until the client is live. */
async function catchUp(deps: LiveDeps, client: LiveClient, topics: readonly EventTopic[]): Promise<void> {
  try {
    do {
      client.hold();
      for (const topic of topics) await readMissed(deps, client, topic);
    } while (client.open() && !client.goLive());
  } catch (error) {
    deps.logger.warn({ err: error }, 'a live client could not be given what it missed');
    client.finish('what was missed cannot be read now; connect again with Last-Event-ID');
  }
}

async function readMissed(deps: LiveDeps, client: LiveClient, topic: EventTopic): Promise<void> {
  if (!client.open()) return;
  const next = new Map(client.where().flatMap((at) => (at.topic === topic ? [[at.partition, at.offset] as const] : [])));
  const bounds = await deps.log.bounds(topic);
  for (const { partition, first } of bounds) {
    if ((next.get(partition) ?? first) >= first) continue;
    client.skip({ topic, partition, offset: first });
    next.set(partition, first);
  }
  if (bounds.every(({ partition, end }) => (next.get(partition) ?? 0) >= end)) return;
  const range: ReadRange = {
    from: next,
    // deleted between reading the bounds and the records; the gap begins at the client's position
    onSkipped: ({ partition, to: offset }) => {
      client.skip({ topic, partition, offset });
    },
  };
  for await (const batch of batchesOf(deps.log, topic, range)) {
    if (!client.open()) return;
    await client.catchUp(await decodeBatch(deps.events, batch));
  }
}

/** The positions that the client sent, where they are before the end of the log; otherwise the end. */
function startOf(live: LivePositions, resume: readonly Position[] | undefined): readonly Position[] {
  const start = live.copy();
  for (const position of resume ?? []) {
    const end = live.next(position.topic, position.partition);
    if (end !== undefined && position.offset < end) start.set(position);
  }
  return start.all();
}
