// policies -> policies; the weights themselves stay in the log.
import type { PolicyPublished } from '../../../schemas/generated/events.ts';
import type { Row } from '../../../streams/core/ports.ts';
import type { Origin } from './cells.ts';
import { row, type ProjectionsOf } from './projection.ts';

function policyRow(event: PolicyPublished, origin: Origin): Row {
  const { weights, optimizer, manifest, ...rest } = event;
  return { ...rest, manifest: JSON.stringify(manifest), weights_bytes: weights.length, optimizer_bytes: optimizer.length, ...origin };
}

export const policyProjections = { PolicyPublished: row('policies', policyRow) } satisfies ProjectionsOf<'policies'>;
