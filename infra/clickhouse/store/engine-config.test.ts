import { describe, expect, it } from 'vitest';
import { engineConfig, engineMemoryBytes, querySettings } from './engine-config.ts';

const GiB = 1024 ** 3;

describe('the memory limit of the engine', () => {
  it('is a quarter of the memory, 1 to 16 GiB', () => {
    expect(engineMemoryBytes(24 * GiB)).toBe(6 * GiB);
    expect(engineMemoryBytes(1 * GiB)).toBe(1 * GiB);
    expect(engineMemoryBytes(512 * GiB)).toBe(16 * GiB);
  });

  it('is written into its file and into each query', () => {
    expect(engineConfig(6 * GiB, '/tmp/a&b')).toContain(`<max_server_memory_usage>${6 * GiB}</max_server_memory_usage>`);
    expect(engineConfig(6 * GiB, '/tmp/a&b')).toContain('<merge_selector_base>32</merge_selector_base>');
    expect(engineConfig(6 * GiB, '/tmp/a&b')).toContain('<users_config>/tmp/a&amp;b</users_config>');
    const trimming = 'merge_selector_enable_heuristic_to_remove_small_parts_at_right';
    expect(engineConfig(6 * GiB, '/tmp/a&b')).toContain(`<${trimming}>0</${trimming}>`);
    expect(querySettings({ memoryBytes: 6 * GiB, threads: 2, maxResultBytes: 5 }).get('max_memory_usage')).toBe(String(3 * GiB));
  });
});
