// The member of a consumer group, with two patches: heartbeats.ts and out-of-range.ts.
import { membershipOf } from './heartbeats.ts';
import { groupMemberOf, type GroupMemberClass } from './out-of-range.ts';
import type { Patch } from './patch.ts';

export const consumerGroupPatch: Patch = {
  module: 'consumer/consumerGroup.js',
  replace: (original: GroupMemberClass) => membershipOf(groupMemberOf(original)),
};
