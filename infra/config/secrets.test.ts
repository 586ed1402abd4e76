import { describe, expect, it } from 'vitest';
import { descriptors, type Config, type Descriptor } from './descriptors.ts';
import { loadConfig } from './load.ts';
import { roleNames, settingsFor, usersOf } from './secrets.ts';

const all = Object.entries(descriptors) as [keyof Config, Descriptor][];
const listed = new Set<string>(Object.keys(usersOf));

describe('the table of secrets', () => {
  it('has every setting that is secret or a URL', () => {
    const secretive = all.filter(([, { secret, ...rest }]) => secret === true || ('shape' in rest && rest.shape === 'an http(s) URL'));
    expect(secretive.map(([key]) => key).filter((key) => !listed.has(key))).toEqual([]);
    expect(secretive.length).toBeGreaterThan(15);
    const keys = all.filter(([, { env }]) => /_(KEY|KEYS|PASSWORD|SECRET|TOKEN)$/.test(env));
    expect(keys.filter(([, { secret }]) => secret !== true)).toEqual([]);
  });

  it('gives a role a configuration that it can load, whatever is set', () => {
    const keys = ['a-key-of-sixteen-or-more:admin'];
    const configs: Partial<Config>[] = [
      { apiHost: '0.0.0.0', apiKeys: keys },
      { policy: 'llm', llmUrl: 'http://a.example/v1', llmModel: 'm' },
      { tools: 'web', serperApiKey: 'k' },
      { tools: 'local', retrievalUrl: 'http://a.example' },
      { kafkaSaslMechanism: 'plain', kafkaSaslUsername: 'u', kafkaSaslPassword: 'p' },
      { clickhouseUrl: 'https://u:p@a.example' },
    ];
    for (const given of configs) {
      const config = loadConfig({}, given);
      for (const role of roleNames) {
        const loaded = loadConfig(settingsFor(role, config));
        for (const [key] of all) {
          if (listed.has(key)) expect([role, key, loaded[key]]).toEqual([role, key, expected(role, key, config)]);
        }
      }
    }
  });

  it('gives a role every other setting', () => {
    const config = loadConfig({}, { namespace: 'mine', maxTurns: 3, retentionHours: 5 });
    for (const role of roleNames) expect(loadConfig(settingsFor(role, config))).toEqual(config);
  });
});

const expected = (role: (typeof roleNames)[number], key: keyof Config, config: Config): unknown =>
  usersOf[key as keyof typeof usersOf].includes(role) ? config[key] : descriptors[key].fallback;
