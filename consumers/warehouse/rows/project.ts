// Projects every event into rows: pure, the same rows for the same record anywhere and anytime. A missing topic does not compile, nor does
// a missing event type in the rows file of its topic.
import type { DecodedOf } from '../../../schemas/codec.ts';
import type { EventByType, EventType } from '../../../schemas/generated/events.ts';
import type { LogRecord, Row } from '../../../streams/core/ports.ts';
import { originOf } from './cells.ts';
import { deadLetterProjections } from './dead-letters.rows.ts';
import { evaluationProjections } from './evaluations.rows.ts';
import { policyProjections } from './policies.rows.ts';
import type { Projection } from './projection.ts';
import { questionProjections } from './questions.rows.ts';
import { rolloutProjections } from './rollouts.rows.ts';
import { taskProjections } from './tasks.rows.ts';
import { trainingProjections } from './training.rows.ts';

/** In table listing order. */
export const projections = {
  ...taskProjections,
  ...rolloutProjections,
  ...trainingProjections,
  ...policyProjections,
  ...questionProjections,
  ...evaluationProjections,
  ...deadLetterProjections,
};

/** The tables that the sink writes. */
export type TableName = (typeof projections)[EventType]['tables'][number];

/** Takes one row for one table. */
type Emit = (table: TableName, row: Row) => void;

type Projections = { readonly [T in EventType]: Projection<EventByType[T], TableName> };

/** Passes every row of one event to `emit`; at least one. */
export function project<T extends EventType>(record: LogRecord, decoded: DecodedOf<T>, emit: Emit): void {
  const all: Projections = projections;
  const projection: Projections[T] = all[decoded.type];
  projection.project(decoded.event, originOf(record), emit);
}
