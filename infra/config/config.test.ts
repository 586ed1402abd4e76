import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPlatformError } from '../../streams/core/errors.ts';
import { descriptors, type Descriptor } from './descriptors.ts';
import { loadConfig, redact, toEnv } from './load.ts';
import type { ProcessEnv } from '../lifecycle/inherited-env.ts';

const problemsOf = (env: ProcessEnv): string => {
  try {
    loadConfig(env);
    return '';
  } catch (error) {
    if (!isPlatformError(error, 'CONFIG_INVALID')) throw error;
    return error.message;
  }
};

describe('configuration', () => {
  it('has a usable default for everything and is frozen', () => {
    const config = loadConfig({});
    expect(config.namespace).toBe('turnstream');
    expect(config.kafkaBrokers).toEqual([]);
    expect(Object.isFrozen(config)).toBe(true);
    for (const [key, descriptor] of Object.entries(descriptors)) expect(config).toHaveProperty([key], descriptor.fallback);
  });

  it('uses the defaults of a recipe for what is not set', () => {
    const compact = { algorithm: 'reinforce', maxTurns: 200, stepReward: 'length', answersToEnd: 3, workerConcurrency: 16 };
    expect(loadConfig({ TURNSTREAM_RECIPE: 'compact' })).toMatchObject({ ...compact, learningRate: 1e-5, dataset: 'compact' });
    expect(loadConfig({}, { recipe: 'compact' })).toMatchObject(compact);
    const replay = { replayTrajectories: 100_000, replayBatch: 128, replayRounds: 10, replayMb: 8_192 };
    expect(loadConfig({}, { recipe: 'compact' })).toMatchObject({ ...replay, groupSize: 8, batchGroups: 16, evalMaxTurns: 150 });
    const tuned = { algorithm: 'reinforce', learningRate: 0.01, replayTrajectories: 256, replayBatch: 128, dataset: 'factbook' };
    expect(loadConfig({}, { recipe: 'compact-tuned' })).toMatchObject({ ...tuned, stepReward: 'none', answersToEnd: 1, evalMaxTurns: 0 });
    expect(loadConfig({ TURNSTREAM_RECIPE: 'compact', TURNSTREAM_MAX_TURNS: '50' }, { dataset: 'mine' })).toMatchObject({
      ...compact,
      ...{ maxTurns: 50, dataset: 'mine' },
    });
    expect(loadConfig({ TURNSTREAM_RECIPE: 'compact' }, { recipe: 'asearcher' })).toMatchObject({ algorithm: 'grpo', answersToEnd: 1 });
    expect(problemsOf({ TURNSTREAM_RECIPE: 'constructor' })).toContain('TURNSTREAM_RECIPE must be one of asearcher, compact');
    const config = loadConfig({ TURNSTREAM_RECIPE: 'compact', TURNSTREAM_MAX_TURNS: '50' });
    expect(loadConfig(toEnv(config))).toEqual(config);
  });

  it('refuses a retention of 0 hours, which would delete what was just written', () => {
    expect(problemsOf({ TURNSTREAM_RETENTION_HOURS: '0' })).toContain(
      'TURNSTREAM_RETENTION_HOURS must be a whole number in -1..876000 other than 0, got "0"',
    );
    for (const hours of [-1, 1, 24]) expect(loadConfig({ TURNSTREAM_RETENTION_HOURS: String(hours) }).retentionHours).toBe(hours);
  });

  it('names every problem in one message', () => {
    const message = problemsOf({
      KAFKA_BROKERS: 'localhost',
      CLICKHOUSE_URL: 'ftp://somewhere',
      TURNSTREAM_API_PORT: '99999',
      TURNSTREAM_LEARNING_RATE: 'fast',
      TURNSTREAM_GROUP_SIZE: '2.5',
      TURNSTREAM_KAFKA_TLS: 'yes',
      TURNSTREAM_REWARD: 'accuracy',
      TURNSTREAM_NAMESPACE: 'Not A Slug',
      TURNSTREAM_BATCH_SIZE: '8',
    });
    for (const name of [
      'KAFKA_BROKERS must be host:port',
      'CLICKHOUSE_URL must be an http(s) URL',
      'TURNSTREAM_API_PORT must be a whole number in 0..65535, got "99999"',
      'TURNSTREAM_LEARNING_RATE must be a number in',
      'TURNSTREAM_GROUP_SIZE must be a whole number',
      'TURNSTREAM_KAFKA_TLS must be true or false',
      'TURNSTREAM_REWARD must be one of f1, em',
      'TURNSTREAM_NAMESPACE must be a lower-case slug',
      'TURNSTREAM_BATCH_SIZE is not a setting of turnstream',
    ]) {
      expect(message).toContain(name);
    }
    expect(message.split('\n- ')).toHaveLength(10);
  });

  it('accepts and ignores the variables of the clients', () => {
    expect(loadConfig({ TURNSTREAM_URL: 'http://127.0.0.1:8787', TURNSTREAM_API_KEY: 'k' })).toEqual(loadConfig({}));
  });

  it('names every setting that has a value out of its range', () => {
    for (const descriptor of Object.values(descriptors) as Descriptor[]) {
      const ranged =
        descriptor.kind === 'whole' || descriptor.kind === 'number' || descriptor.kind === 'choice' || descriptor.kind === 'flag';
      if (ranged) expect(problemsOf({ [descriptor.env]: 'nonsense' })).toContain(descriptor.env);
    }
  });

  it('checks settings that depend on each other', () => {
    expect(problemsOf({ TURNSTREAM_API_HOST: '0.0.0.0' })).toContain('set TURNSTREAM_API_KEYS as well');
    expect(problemsOf({ TURNSTREAM_API_HOST: '0.0.0.0', TURNSTREAM_API_KEYS: 'abcdefghijklmnop:read+sql' })).toBe('');
    expect(problemsOf({ TURNSTREAM_KAFKA_SASL_MECHANISM: 'plain' })).toContain('TURNSTREAM_KAFKA_SASL_USERNAME');
    const [TURNSTREAM_ENGINES, TURNSTREAM_TRAINER] = ['vllm=http://127.0.0.1:8000,sglang=https://gpu.example/a', 'external'];
    expect(problemsOf({ TURNSTREAM_ENGINES })).toContain('needs TURNSTREAM_TRAINER external');
    expect(problemsOf({ TURNSTREAM_ENGINES, TURNSTREAM_TRAINER })).toBe('');
    expect(problemsOf({ TURNSTREAM_ENGINES: `${TURNSTREAM_ENGINES},vllm=http://127.0.0.1:8000`, TURNSTREAM_TRAINER })).toContain('twice');
    for (const wrong of ['http://a', 'tgi=http://a', 'vllm=a:8000', 'vllm=http://user:pass@a', 'vllm=http://a?key=b', 'vllm=file:///a'])
      expect(problemsOf({ TURNSTREAM_ENGINES: wrong, TURNSTREAM_TRAINER })).toContain('TURNSTREAM_ENGINES must be');
    expect(problemsOf({ TURNSTREAM_HEARTBEAT_MS: '5000', TURNSTREAM_SILENCE_MS: '10000' })).toContain('more than twice');
  });

  it('shows no secret, neither when it is wrong nor when it is printed', () => {
    const env = { TURNSTREAM_API_KEYS: 'hunter2hunter2hunter2', CLICKHOUSE_URL: 'http://user:hunter2@host:8123' };
    expect(problemsOf(env)).not.toContain('hunter2');
    const config = loadConfig({ ...env, TURNSTREAM_API_KEYS: 'hunter2hunter2hunter2:admin', TURNSTREAM_KAFKA_SASL_PASSWORD: 'hunter2' });
    expect(JSON.stringify(redact(config))).not.toContain('hunter2');
    expect(redact(loadConfig({}))).toMatchObject({ clickhousePassword: '', namespace: 'turnstream' });
  });

  it('takes overrides of a command line after the environment', () => {
    expect(loadConfig({ TURNSTREAM_DATASET: 'a' }, { dataset: 'b' }).dataset).toBe('b');
  });

  it('gives a child process the same configuration', () => {
    const whole = (descriptor: Extract<Descriptor, { kind: 'whole' }>) =>
      fc.integer({ min: descriptor.min, max: descriptor.max }).map(String);
    const valueOf = (descriptor: Descriptor): fc.Arbitrary<string> => {
      switch (descriptor.kind) {
        case 'whole':
          return whole(descriptor);
        case 'choice':
          return fc.constantFrom(...descriptor.choices);
        case 'flag':
          return fc.constantFrom('true', 'false');
        default:
          return fc.constant('');
      }
    };
    const arbitrary = fc.record(
      Object.fromEntries((Object.values(descriptors) as Descriptor[]).map((descriptor) => [descriptor.env, valueOf(descriptor)])),
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(arbitrary, (env) => {
        if (problemsOf(env) !== '') return;
        const config = loadConfig(env);
        expect(loadConfig(toEnv(config))).toEqual(config);
      }),
    );
    const config = loadConfig({ KAFKA_BROKERS: ' a:1 , b:2 ', TURNSTREAM_LEARNING_RATE: '0.5', TURNSTREAM_DATA_DIR: 'x y' });
    expect(loadConfig(toEnv(config))).toEqual(config);
  });
});
