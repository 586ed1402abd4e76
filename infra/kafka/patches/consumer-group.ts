// The member of a consumer group, with three patches: fetch-size.ts, heartbeats.ts, and out-of-range.ts.
import { fetchSizeOf, type FetchingClass } from './fetch-size.ts';
import { membershipOf } from './heartbeats.ts';
import { groupMemberOf } from './out-of-range.ts';
import type { Patch } from './patch.ts';

export const consumerGroupPatch: Patch = {
  module: 'consumer/consumerGroup.js',
  replace: (original: FetchingClass) => membershipOf(groupMemberOf(fetchSizeOf(original))),
};
