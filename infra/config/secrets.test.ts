import { describe, expect, it } from 'vitest';
import { descriptors, type Config, type Descriptor } from './descriptors.ts';
import { loadConfig } from './load.ts';
import { workerSettingsOf } from './learning.ts';
import { roleNames, settingsFor, standIns, uses, usersOf } from './secrets.ts';

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
      { apiHost: '0.0.0.0', trainer: 'external', trainerHost: '0.0.0.0', apiKeys: keys },
      { policy: 'llm', llmUrl: 'http://a.example/v1', llmModel: 'm' },
      { trainer: 'external', engines: ['vllm=http://a.example'], engineKey: 'k' },
      { tools: 'web', serperApiKey: 'k' },
      { tools: 'local', retrievalUrl: 'http://a.example' },
      { kafkaSaslMechanism: 'plain', kafkaSaslUsername: 'u', kafkaSaslPassword: 'p' },
      { clickhouseUrl: 'https://u:p@a.example' },
      { rewardJudge: 1, judgeUrl: 'http://u:p@a.example/v1', judgeModel: 'j', judgeApiKey: 'k' },
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

  it('lets the trainer record the same worker settings as the workers have', () => {
    const given: Partial<Config>[] = [
      { policy: 'llm', llmUrl: 'http://user:pass@a.example/v1', llmModel: 'm', llmExtra: '{"top_k": 5}' },
      { tools: 'web', serperApiKey: 'k' },
      { tools: 'local', retrievalUrl: 'http://a.example' },
      { rewardJudge: 1, judgeUrl: 'http://u:pass@a.example/v1', judgeModel: 'j', judgeApiKey: 'k' },
    ];
    for (const one of given) {
      const config = loadConfig({}, one);
      const [trainer, worker] = (['trainer', 'worker'] as const).map((role) => workerSettingsOf(loadConfig(settingsFor(role, config))));
      expect(trainer).toEqual(worker);
      expect(JSON.stringify(trainer)).not.toMatch(/top_k|pass|"k"/);
    }
  });

  it('gives API keys to the trainer only if it serves external trainers', () => {
    const apiKeys = ['a-key-of-sixteen-or-more:admin'];
    const keysOf = (trainer: Config['trainer']) => loadConfig(settingsFor('trainer', loadConfig({}, { trainer, apiKeys }))).apiKeys;
    expect(keysOf('built-in')).toEqual([]);
    expect(keysOf('external')).toEqual(apiKeys);
  });

  it('gives a role every other setting', () => {
    const config = loadConfig({}, { namespace: 'mine', maxTurns: 3, retentionHours: 5 });
    for (const role of roleNames) expect(loadConfig(settingsFor(role, config))).toEqual(config);
  });
});

function expected(role: (typeof roleNames)[number], key: keyof Config, config: Config): unknown {
  if (uses(role, key as keyof typeof usersOf, config)) return config[key];
  return config[key] === '' ? '' : (standIns[key]?.(config) ?? descriptors[key].fallback);
}
