// The environment variables of the processes of a running `up`, according to the system.
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { descriptors, type Config, type Descriptor } from '../config/descriptors.ts';
import { usersOf } from '../config/secrets.ts';
import { startUp, testHome, type TestHome, type UpProcess } from '../testing/up.ts';

/** Settings that would select services other than those that `up` starts, or another trainer. */
const SELECTING: ReadonlySet<string> = new Set(['clickhouseUrl', 'schemaRegistryUrl', 'initialPolicyUri']);
const secretKeys = Object.keys(usersOf).filter((key) => !SELECTING.has(key)) as (keyof Config)[];
const markOf = (name: string): string => `very-secret-${name}-end`;

const shapes: Readonly<Record<string, (mark: string) => string>> = {
  apiKeys: (mark) => `${mark}:admin`,
  llmExtra: (mark) => JSON.stringify({ key: mark }),
};

function valueOf(key: keyof Config): string {
  const descriptor: Descriptor = descriptors[key];
  const mark = markOf(key);
  const shape = 'shape' in descriptor ? descriptor.shape : undefined;
  if (shape === 'an http(s) URL') return `http://user:${mark}@127.0.0.1:9/v1`;
  if (shape === 'an http(s) URL without a user') return `http://127.0.0.1:9/${mark}`;
  return shapes[key]?.(mark) ?? mark;
}

/** Typical secrets in a user's shell. */
const foreign = ['AWS_SECRET_ACCESS_KEY', 'OPENAI_API_KEY', 'HF_TOKEN', 'NPM_TOKEN'];

const marksIn = (pid: number): string[] => {
  const text = readFileSync(`/proc/${pid}/environ`, 'utf8');
  return [...new Set([...text.matchAll(/very-secret-(\w+)-end/g)].map(([, name]) => name ?? ''))].sort();
};

const ofWorker = [
  'jinaApiKey',
  'jinaUrl',
  'judgeApiKey',
  'judgeUrl',
  'kafkaSaslPassword',
  'llmApiKey',
  'llmExtra',
  'llmUrl',
  'retrievalUrl',
  'serperApiKey',
  'serperUrl',
];

describe.skipIf(process.platform !== 'linux')('secrets under up (skipped where there is no /proc)', () => {
  let home: TestHome;
  let up: UpProcess | undefined;
  afterEach(async () => {
    up?.signal('SIGTERM');
    await up?.exit;
    await home.remove();
  });

  it('are given to the processes that use them, and to no others', async () => {
    const settings = secretKeys.map((key): [string, string] => [descriptors[key].env, valueOf(key)]);
    home = await testHome({
      ...{ TURNSTREAM_GROUP_SIZE: '4', TURNSTREAM_BATCH_GROUPS: '2', TURNSTREAM_LOG_LEVEL: 'error' },
      ...Object.fromEntries([...settings, ...foreign.map((name): [string, string] => [name, markOf(name)])]),
    });
    up = startUp(home, ['--run', 'secrets']);
    const names = ['kafka', 'store', 'trainer', 'worker-1', 'api', 'warehouse', 'evaluator-before'];
    for (const name of names) await up.until(({ event, service }) => event === 'started' && service === name);
    // the file with the addresses is written after the event
    await expect.poll(() => Object.keys(up?.services().processes ?? {})).toEqual(expect.arrayContaining(names));
    const { processes } = up.services();
    expect(Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, marksIn(pid)]))).toEqual({
      kafka: [],
      store: [],
      trainer: ['engineKey', 'kafkaSaslPassword'],
      'worker-1': ofWorker,
      api: ['apiKeys', 'clickhousePassword', 'dashboardToken', 'kafkaSaslPassword', 'webhookUrl'],
      warehouse: ['clickhousePassword', 'kafkaSaslPassword'],
      'evaluator-before': ['jinaUrl', 'kafkaSaslPassword', 'llmApiKey', 'llmExtra', 'llmUrl', 'retrievalUrl', 'serperUrl'],
    });
    expect(marksIn(up.pid)).toEqual([...secretKeys, ...foreign].sort());
  });
});
