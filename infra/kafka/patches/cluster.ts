// The brokers behind a client, for requests that kafkajs does not have.
//
// Reason: kafkajs has no extension point for requests. It stores the function that creates connections under a symbol;
// connect.int.test.ts fails if that disappears.
// Upstream: not reported.
import type { Kafka } from 'kafkajs';

/** A request of the protocol, as kafkajs expects it. */
export interface BrokerRequest<T> {
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly apiName: string;
    /** kafkajs copies `buffer`, and accepts the object as an encoder only if `buf` is a Buffer. */
    encode(): Promise<{ readonly buf: Buffer; readonly buffer: Buffer }>;
  };
  readonly response: {
    decode(bytes: Buffer): Promise<T>;
    parse(decoded: T): Promise<T>;
  };
}

export interface BrokerConnection {
  /** Range of API versions that the broker supports for each request, by API key. */
  readonly versions: Readonly<Record<number, { readonly minVersion: number; readonly maxVersion: number } | undefined>>;
  readonly connectionPool: { send<T>(request: BrokerRequest<T>): Promise<T> };
}

/** The connections of a client to its brokers. */
export interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  metadata(asked: { readonly topics: readonly string[] }): Promise<{
    readonly brokers: readonly { readonly nodeId: number }[];
    readonly topicMetadata: readonly {
      readonly topic: string;
      readonly partitionMetadata: readonly { readonly partitionId: number; readonly leader: number }[];
    }[];
  }>;
  findBroker(asked: { readonly nodeId: number }): Promise<BrokerConnection>;
  findGroupCoordinator(asked: { readonly groupId: string; readonly coordinatorType: number }): Promise<BrokerConnection>;
}

type CreateCluster = (settings: object) => Cluster;

/** The function of a client that creates its connections, with a way to replace it. */
export function clusterFactoryOf(kafka: Kafka): { readonly create: CreateCluster; readonly replace: (create: CreateCluster) => void } {
  const key = Object.getOwnPropertySymbols(kafka).find((symbol) => symbol.description === 'private:Kafka:createCluster');
  const holder = kafka as unknown as Record<symbol, CreateCluster | undefined>;
  const create = key === undefined ? undefined : holder[key];
  if (key === undefined || create === undefined) throw new TypeError('this release of kafkajs creates its connections in a different way');
  return {
    create,
    replace: (other) => {
      holder[key] = other;
    },
  };
}
