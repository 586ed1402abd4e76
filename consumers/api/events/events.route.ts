import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Clock } from '../../../streams/core/ports.ts';
import { runParams } from '../route-kit.ts';
import { createAppendInTime, type AppendOptions } from './append-in-time.ts';
import { rewardNamePattern } from '../../../streams/reward/attached.ts';
import { ACCEPTED, limits, readRewards, type EventProblem } from './reward-lines.ts';

export interface EventRoutesOptions {
  readonly writer: AppendOptions['writer'];
  /** Role and id of this process. */
  readonly producer: string;
  readonly clock: Pick<Clock, 'now'>;
  /** How long a caller waits for Kafka, ms; 5 s by default. */
  readonly patienceMs?: number;
}

const NDJSON = 'application/x-ndjson';
const PATIENCE_MS = 5_000;
const MAX_PENDING = 32;
/** Number of problems in the message; `errors` has more. */
const TOLD = 5;

const example = { type: ACCEPTED, trajectory_id: 'demo-g000003.1', name: 'human', value: 0.5, identifier: 'reviewer-7' };

const postedEvent = Type.Object(
  {
    type: Type.Literal(ACCEPTED),
    trajectory_id: Type.String({ pattern: limits.trajectory.source, description: '`<group_id>.<sample>`' }),
    value: Type.Number({ description: 'The reward, a finite number.' }),
    attempt: Type.Optional(Type.Integer({ minimum: 0, maximum: limits.int, default: 0, description: 'Attempt at the trajectory.' })),
    turn: Type.Optional(
      Type.Integer({ minimum: -1, maximum: limits.int, default: -1, description: 'Turn that the reward is for; -1 = the whole attempt.' }),
    ),
    name: Type.Optional(
      Type.String({
        pattern: rewardNamePattern.source,
        default: 'reward',
        description: 'What is rewarded. The run trains on the names in TURNSTREAM_REWARD_NAMES.',
      }),
    ),
    source: Type.Optional(Type.String({ maxLength: limits.text, default: '', description: 'Who or what gave the reward.' })),
    identifier: Type.Optional(
      Type.String({ maxLength: limits.text, default: '', description: 'Rewards with the same target, name, and identifier count once.' }),
    ),
    run_id: Type.Optional(Type.String({ ...runParams.properties.run, description: 'Must be the run in the path.' })),
    event_id: Type.Optional(
      Type.String({ description: '`<trajectory_id>/<attempt>/<turn>/<name>/<identifier>`; this is also the default. Others are refused.' }),
    ),
  },
  { additionalProperties: false, title: 'PostedEvent', examples: [example] },
);

/** Replaces the body in schema validation: the text is checked line by line instead, and the schema only documents it. */
const checkedBelow: readonly unknown[] = [example];

const recorded = Type.Object(
  {
    recorded: Type.Integer({ description: 'Number of events in the request; all are in the log now.' }),
    event_ids: Type.Array(Type.String(), { description: 'Ids of the events, in the order of the request.' }),
  },
  { title: 'RecordedEvents', examples: [{ recorded: 1, event_ids: ['demo-g000003.1/0/-1/human/reviewer-7'] }] },
);

const description =
  `Accepts only ${ACCEPTED}: a reward for an attempt or for one of its turns. A response of 200 means that all events are in the log. ` +
  'An event that is there already changes nothing, so a request may be repeated. If any event has a problem, nothing is written, and ' +
  '`errors` names each line. A body has at most 1 MiB. The trajectory need not be in the tables, which may be behind the log.';

/** Accepts events of other programs. */
export const eventRoutes: FastifyPluginAsyncTypebox<EventRoutesOptions> = async (
  app,
  { writer, producer, clock, patienceMs = PATIENCE_MS },
) => {
  const append = createAppendInTime({ writer, patienceMs, maxPending: MAX_PENDING });
  const texts = new WeakMap<object, string>();
  app.removeContentTypeParser(['application/json', 'text/plain']);
  app.addContentTypeParser(['application/json', NDJSON], { parseAs: 'string' }, (request, text, done) => {
    texts.set(request, text.toString());
    done(null, checkedBelow);
  });

  app.post(
    '/v1/runs/:run/events',
    {
      config: { scope: 'record' },
      schema: {
        ...{ tags: ['rollouts'], operationId: 'recordEvents', summary: 'Record events of your own program', description },
        consumes: [NDJSON, 'application/json'],
        params: runParams,
        body: Type.Array(postedEvent, { minItems: 1, maxItems: limits.events, examples: [[example]] }),
        response: { 200: recorded },
      },
    },
    async (request) => {
      const { run } = request.params;
      const isNdjson = request.headers['content-type']?.startsWith(NDJSON) === true;
      const posted = { text: texts.get(request) ?? '', isNdjson };
      const read = readRewards(posted, { runId: run, producer, now: Math.round(clock.now() * 1_000) });
      if (read.kind === 'bad') throw refused(read.problems);
      const { rewards } = read;
      await append(rewards.map((event) => ({ type: ACCEPTED, key: event.group_id, event })));
      return { recorded: rewards.length, event_ids: rewards.map(({ event_id: id }) => id) };
    },
  );
};

function refused(problems: readonly EventProblem[]): PlatformError {
  const told = problems.slice(0, TOLD).map(({ parameter, message }) => `${parameter} ${message}`);
  const more = problems.length > TOLD ? [`and ${problems.length - TOLD} more`] : [];
  return new PlatformError('REQUEST_INVALID', `reading events: ${[...told, ...more].join('; ')}`, { context: { errors: problems } });
}
