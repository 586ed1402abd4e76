// A consumer group of the in-memory log: a rebalance waits for running handlers and starts a new generation; commits of older generations
// are rejected.
import type { EventTopic } from '../../schemas/generated/events.ts';
import { isPlatformError, PlatformError } from '../../streams/core/errors.ts';
import type { GroupConsumer, GroupSession, LogBatch, Position } from '../../streams/core/ports.ts';
import type { CommittedOffset, MemoryLog, MemoryPartition } from './memory-log.ts';

type MemberOptions = Parameters<GroupConsumer['start']>[0] & { readonly paused: ReadonlySet<EventTopic> };

interface MemoryMember {
  readonly options: MemberOptions;
  generation: number;
  assigned: MemoryPartition[];
  readonly positions: Map<MemoryPartition, number>;
  session: GroupSession;
  busy: boolean;
  closed: boolean;
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class MemoryGroup {
  readonly #name: string;
  readonly #log: MemoryLog;
  readonly #committed = new Map<string, CommittedOffset>();
  #members: MemoryMember[] = [];
  #assignment = new Map<MemoryMember, MemoryPartition[]>();
  #generation = 0;
  #preparing = 0;

  constructor(name: string, log: MemoryLog) {
    this.#name = name;
    this.#log = log;
  }

  committed(topic: EventTopic, partition: number): CommittedOffset | undefined {
    return this.#committed.get(`${topic}/${partition}`);
  }

  /** Simulates the expiration of the group on a broker. */
  forget(): void {
    this.#committed.clear();
  }

  setCommitted(position: Position & { readonly metadata?: string }): void {
    this.#committed.set(`${position.topic}/${position.partition}`, { offset: position.offset, metadata: position.metadata ?? '' });
  }

  /** Joins the group; returns a function that leaves it. */
  async join(options: MemberOptions): Promise<() => Promise<void>> {
    const fenced: GroupSession = { commit: async () => this.#refuse(), heartbeat: async () => this.#refuse(), isOver: () => true };
    const member: MemoryMember = {
      options,
      generation: -1,
      assigned: [],
      positions: new Map(),
      session: fenced,
      busy: false,
      closed: false,
    };
    const forget = this.#log.watch(() => member.closed || this.#isIdle(member));
    await this.#rebalance([...this.#members, member]);
    const pumping = this.#pump(member);
    return async () => {
      member.closed = true;
      this.#log.changed();
      if (!member.busy) await pumping;
      forget();
      await this.#rebalance(this.#members.filter((other) => other !== member));
    };
  }

  /** Starts a new generation at once, without waiting for handlers. */
  expireMembers(): void {
    this.#assign(this.#members);
  }

  #isIdle(member: MemoryMember): boolean {
    return !member.busy && this.#preparing === 0 && member.generation === this.#generation && this.#next(member) === undefined;
  }

  async #rebalance(members: MemoryMember[]): Promise<void> {
    this.#preparing += 1;
    this.#members = members;
    while (members.some((member) => member.busy)) await tick();
    this.#preparing -= 1;
    this.#assign(this.#members);
  }

  #assign(members: readonly MemoryMember[]): void {
    this.#generation += 1;
    this.#assignment = new Map(members.map((member) => [member, []]));
    const topics = new Set(members.flatMap((member) => [...member.options.topics]));
    for (const topic of topics) {
      const takers = members.filter((member) => member.options.topics.includes(topic));
      for (const log of this.#log.partitionsOf(topic)) {
        const taker = takers[log.partition % takers.length];
        if (taker !== undefined) this.#assignment.get(taker)?.push(log);
      }
    }
    this.#log.changed();
  }

  async #pump(member: MemoryMember): Promise<void> {
    while (!member.closed) {
      if (this.#preparing > 0) {
        await tick();
        continue;
      }
      if (member.generation !== this.#generation) {
        await this.#guarded(member, () => this.#adopt(member));
        continue;
      }
      if (this.#isOutOfRange(member)) continue;
      const batch = this.#next(member);
      if (batch === undefined) {
        await this.#log.nextChange();
        continue;
      }
      await this.#guarded(member, () => this.#deliver(member, batch));
      await tick();
    }
  }

  /** Reports an error of a handler; the member restarts from the committed offsets. */
  async #guarded(member: MemoryMember, work: () => Promise<void>): Promise<void> {
    member.busy = true;
    try {
      await work();
    } catch (error) {
      if (!isPlatformError(error, 'GROUP_FENCED')) member.options.onError(error);
      member.generation = -1;
      await tick();
    } finally {
      member.busy = false;
    }
  }

  async #adopt(member: MemoryMember): Promise<void> {
    const generation = this.#generation;
    member.assigned = this.#assignment.get(member) ?? [];
    member.session = this.#sessionOf(member, generation);
    member.positions.clear();
    for (const log of member.assigned) member.positions.set(log, this.committed(log.topic, log.partition)?.offset ?? log.first);
    const assigned = [...new Set(member.assigned.map((log) => log.topic))].map((topic) => ({
      topic,
      partitions: member.assigned.filter((log) => log.topic === topic).map((log) => log.partition),
    }));
    const seeks = (await member.options.onAssigned?.(assigned, member.session)) ?? [];
    for (const log of member.assigned) {
      const seek = seeks.find((position) => position.topic === log.topic && position.partition === log.partition);
      if (seek !== undefined) member.positions.set(log, seek.offset);
    }
    member.generation = generation;
  }

  /** Reports an out-of-range position to a member with a callback for it, which then rejoins; returns whether it did. */
  #isOutOfRange(member: MemoryMember): boolean {
    const { onOutOfRange } = member.options;
    const lost = member.assigned.find((log) => {
      const position = member.positions.get(log) ?? 0;
      return position > log.slots.length || position < log.first;
    });
    if (onOutOfRange === undefined || lost === undefined) return false;
    onOutOfRange({ topic: lost.topic, partition: lost.partition });
    member.generation = -1;
    return true;
  }

  #next(member: MemoryMember): LogBatch | undefined {
    for (const log of member.assigned) {
      if (member.options.paused.has(log.topic)) continue;
      const batch = this.#log.batchAt(log, member.positions.get(log) ?? 0);
      if (batch !== undefined) return batch;
    }
    return undefined;
  }

  async #deliver(member: MemoryMember, batch: LogBatch): Promise<void> {
    await member.options.onBatch(batch, member.session);
    const log = member.assigned.find((candidate) => candidate.topic === batch.topic && candidate.partition === batch.partition);
    if (log !== undefined) member.positions.set(log, batch.nextOffset);
  }

  #sessionOf(member: MemoryMember, generation: number): GroupSession {
    const owned = new Set(member.assigned.map((log) => `${log.topic}/${log.partition}`));
    return {
      commit: async (positions) => {
        if (generation !== this.#generation) this.#refuse();
        if (positions.some(({ topic, partition }) => !owned.has(`${topic}/${partition}`))) this.#refuse();
        this.#log.takeFault('offsets');
        for (const position of positions) this.setCommitted(position);
      },
      heartbeat: async () => {
        if (generation !== this.#generation) this.#refuse();
      },
      isOver: () => generation !== this.#generation,
    };
  }

  #refuse(): never {
    throw new PlatformError('GROUP_FENCED', `committing offsets of ${this.#name}: the group has moved on without this member`);
  }
}
