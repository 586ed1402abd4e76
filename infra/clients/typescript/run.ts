// A run: its lists, its trainer, and attached rewards.
import { Listing } from './listing.ts';
import { follow, type LiveEvent, type LiveOptions } from './live.ts';
import type { Queries, Schemas } from './schemas.ts';
import { Trainer, type TrainerOptions } from './trainer.ts';
import { pathOf, type Transport } from './transport.ts';

export interface Reward {
  readonly trajectory_id: string;
  readonly value: number;
  readonly name?: string;
  readonly attempt?: number;
  /** -1: the whole trajectory. */
  readonly turn?: number;
  /** Rewards with the same target, name, and identifier count once. */
  readonly identifier?: string;
  readonly source?: string;
}

/** One run, by its id. Creating it sends no request. */
export class Run {
  readonly #transport: Transport;
  readonly id: string;

  constructor(transport: Transport, id: string) {
    this.#transport = transport;
    this.id = id;
  }

  summary(): Promise<Schemas['Run']> {
    return this.#transport.json(this.#path());
  }

  /** Claims the run. `lineage` and `prepared` are those of the checkpoint, if there is one. */
  trainer(id: string, options: TrainerOptions = {}): Promise<Trainer> {
    return Trainer.claim(this.#transport, { run: this.id, id }, options);
  }

  async reward({ name = 'reward', attempt = 0, turn = -1, identifier = '', source = 'client', ...given }: Reward): Promise<void> {
    const event_id = [given.trajectory_id, attempt, turn, name, identifier].join('/');
    await this.record([{ type: 'RewardAttached', event_id, ...given, name, attempt, turn, identifier, source }]);
  }

  /** Writes events to the log; currently only RewardAttached. Repeated events change nothing. */
  async record(events: readonly object[]): Promise<Schemas['RecordedEvents']> {
    const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
    return this.#transport.json(this.#path('events'), { method: 'POST', lines });
  }

  live(options: Omit<LiveOptions, 'run'> = {}): AsyncGenerator<LiveEvent> {
    return follow(this.#transport, { ...options, run: this.id });
  }

  steps(query: Queries['listSteps'] = {}): Listing<Schemas['Step']> {
    return new Listing(this.#transport, this.#path('steps'), query);
  }

  trajectories(query: Queries['listTrajectories'] = {}): Listing<Schemas['Trajectory']> {
    return new Listing(this.#transport, this.#path('trajectories'), query);
  }

  turns(trajectory: string, query: Omit<Queries['listTurns'], 'run'> = {}): Listing<Schemas['Turn']> {
    return new Listing(this.#transport, pathOf('trajectories', trajectory, 'turns'), { run: this.id, ...query });
  }

  /** The rewards attached to a trajectory, and whether each was counted. */
  rewards(trajectory: string, query: Omit<Queries['listRewards'], 'run'> = {}): Listing<Schemas['AttachedReward']> {
    return new Listing(this.#transport, pathOf('trajectories', trajectory, 'rewards'), { run: this.id, ...query });
  }

  toolCalls(query: Queries['listToolCalls'] = {}): Listing<Schemas['ToolCall']> {
    return new Listing(this.#transport, this.#path('tool-calls'), query);
  }

  policies(query: Queries['listPolicies'] = {}): Listing<Schemas['Policy']> {
    return new Listing(this.#transport, this.#path('policies'), query);
  }

  staleness(query: Queries['listStaleness'] = {}): Listing<Schemas['StepStaleness']> {
    return new Listing(this.#transport, this.#path('staleness'), query);
  }

  discarded(query: Queries['listDiscarded'] = {}): Listing<Schemas['Discard']> {
    return new Listing(this.#transport, this.#path('discarded'), query);
  }

  lineage(query: Queries['listLineage'] = {}): Listing<Schemas['LineageTurn']> {
    return new Listing(this.#transport, this.#path('lineage'), query);
  }

  #path(...parts: readonly string[]): string {
    return pathOf('runs', this.id, ...parts);
  }
}
