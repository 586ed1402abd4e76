// Makes heartbeats independent of the wall clock.
//
// Reason: kafkajs compares the time of the last heartbeat with Date.now(). If the clock is set back by an hour, it sends no heartbeat for
// an hour, and the group removes the member. This patch derives the time of the last heartbeat from the monotonic clock.
// Upstream: not reported.

/** The membership of a consumer of kafkajs, as far as this patch needs it. */
export interface KafkajsMembership {
  lastRequest: number;
}

type MembershipClass = new (...options: never[]) => KafkajsMembership;

export const membershipOf = (Original: MembershipClass): MembershipClass => {
  const requested = new WeakMap<KafkajsMembership, number>();
  return class extends Original {
    override get lastRequest(): number {
      return Date.now() - (performance.now() - (requested.get(this) ?? 0));
    }
    override set lastRequest(_time: number) {
      requested.set(this, performance.now());
    }
  };
};
