// Rows of the topic `tasks`, for the table `tasks`.
import type { TrajectoryRequested } from '../../../schemas/generated/events.ts';
import type { Row } from '../../../streams/core/ports.ts';
import type { Origin } from './cells.ts';
import { row, type ProjectionsOf } from './projection.ts';

const taskRow = (event: TrajectoryRequested, origin: Origin): Row => ({ ...event, ...origin });

export const taskProjections = { TrajectoryRequested: row('tasks', taskRow) } satisfies ProjectionsOf<'tasks'>;
