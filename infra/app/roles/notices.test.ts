import { expect, it } from 'vitest';
import type { RoleStatus } from '../../../streams/core/telemetry.ts';
import { createNotices } from './notices.ts';

it('is added to the detail of a live role, and removed again', () => {
  const told: RoleStatus[] = [];
  const { report, tell } = createNotices((status) => told.push(status));
  tell('an engine is behind', { engines: 2 });
  expect(told).toEqual([]);
  report({ state: 'live', detail: 'of itself', figures: { step: 1 } });
  report({ state: 'waiting', detail: 'for Kafka', figures: {} });
  report({ state: 'live', detail: '', figures: { step: 2 } });
  tell('');
  expect(told).toEqual([
    { state: 'live', detail: 'of itself; an engine is behind', figures: { step: 1, engines: 2 } },
    { state: 'waiting', detail: 'for Kafka', figures: { engines: 2 } },
    { state: 'live', detail: 'an engine is behind', figures: { step: 2, engines: 2 } },
    { state: 'live', detail: '', figures: { step: 2 } },
  ]);
});
