// Resource limits of the engine. It shares the machine with a broker, a trainer and workers, so its pools and caches are small and its
// memory is limited.
import { totalmem } from 'node:os';

const MiB = 1024 * 1024;
/** Merges run at lower priority than inserts and reads; on a busy machine, they get a third of the CPU time of a normal thread. */
const MERGE_NICE = 5;
const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

/** Memory of the whole engine: a quarter of the machine's, 1 to 16 GiB. */
export const engineMemoryBytes = (machineBytes = totalmem()): number => Math.floor(clamp(machineBytes / 4, 1024 * MiB, 16_384 * MiB));

/** The engine's configuration file; `usersFile` is the path of the users file. */
export function engineConfig(memoryBytes: number, usersFile: string): string {
  const values: Readonly<Record<string, number>> = {
    max_server_memory_usage: memoryBytes,
    max_thread_pool_size: 512,
    max_io_thread_pool_size: 8,
    max_active_parts_loading_thread_pool_size: 4,
    max_outdated_parts_loading_thread_pool_size: 2,
    max_unexpected_parts_loading_thread_pool_size: 2,
    max_parts_cleaning_thread_pool_size: 2,
    background_pool_size: 2,
    os_threads_nice_value_merge_mutate: MERGE_NICE,
    background_merges_mutations_concurrency_ratio: 2,
    background_common_pool_size: 2,
    background_move_pool_size: 1,
    background_fetches_pool_size: 1,
    background_schedule_pool_size: 8,
    background_buffer_flush_schedule_pool_size: 1,
    background_distributed_schedule_pool_size: 1,
    background_message_broker_schedule_pool_size: 4,
    mark_cache_size: 128 * MiB,
    uncompressed_cache_size: 0,
    index_mark_cache_size: 16 * MiB,
    index_uncompressed_cache_size: 0,
    compiled_expression_cache_size: 32 * MiB,
    mmap_cache_size: 256,
  };
  return [
    '<clickhouse>',
    '  <logger><level>none</level><console>0</console></logger>',
    `  <users_config>${escapeXml(usersFile)}</users_config>`,
    '  <access_control_improvements><table_engines_require_grant>true</table_engines_require_grant></access_control_improvements>',
    ...elements(values),
    `  <merge_tree>${elements(tableSettings).join('')}</merge_tree>`,
    '</clickhouse>',
    '',
  ].join('\n');
}

/**
 * A sink makes dozens of small parts per second, and the cost of a merge depends on the number of parts more than on their rows.
 * Therefore at least sixteen parts are merged at a time, in the compact format until they are large, and without column statistics, which
 * no query here uses. The engine adds 5 MiB to the size of each part in its estimates: with a base below 17, sixteen parts of one row each
 * would justify rewriting a part of a few MB. The heuristic for small parts is off, because it removes the parts that triggered a merge.
 *
 * A merge that runs while the disk is full may succeed with empty files. The next start detaches such a part, and uses the merged parts
 * instead if they are still there, so they are kept for some minutes.
 */
const tableSettings: Readonly<Record<string, string | number>> = {
  auto_statistics_types: '',
  min_parts_to_merge_at_once: 16,
  merge_selector_base: 32,
  merge_selector_enable_heuristic_to_remove_small_parts_at_right: 0,
  min_bytes_for_wide_part: 256 * MiB,
  packed_skip_index_max_bytes: MiB,
  old_parts_lifetime: 480,
};

const escapeXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const elements = (values: Readonly<Record<string, string | number>>): readonly string[] =>
  Object.entries(values).map(([name, value]) => `  <${name}>${value}</${name}>`);

/** Default settings of every query. */
export function querySettings(options: {
  readonly memoryBytes: number;
  readonly threads: number;
  readonly maxResultBytes: number;
}): ReadonlyMap<string, string> {
  return new Map([
    ['implicit_select', '0'],
    ['async_insert', '0'],
    ['max_threads', String(options.threads)],
    ['max_insert_threads', '1'],
    ['max_memory_usage', String(Math.floor(options.memoryBytes / 2))],
    ['max_result_bytes', String(options.maxResultBytes)],
    ['result_overflow_mode', 'throw'],
  ]);
}
