// Settings of the engine with string values. Unlike a number, a string can name a file, a server or an expression: paths of schemas, URLs
// of registries, conditions that are inserted into other queries. Those are closed: the engine refuses to change them. The store rejects a
// string setting that is in neither list.

const words = (list: string): readonly string[] => list.trim().split(/\s+/);

/** Values that are only written out or compared, which is safe. */
export const openTextSettings: readonly string[] = words(`
bool_false_representation bool_true_representation chdb_client_name column_names_for_schema_inference count_distinct_implementation
default_view_definer errors_output_format exclude_materialize_skip_indexes_on_insert force_data_skipping_indices
force_optimize_projection_name format_csv_delimiter format_csv_null_representation format_custom_field_delimiter
format_custom_result_after_delimiter format_custom_result_before_delimiter format_custom_row_after_delimiter
format_custom_row_before_delimiter format_custom_row_between_delimiter format_json_object_each_row_column_for_object_name format_regexp
format_schema_message_name format_template_resultset_format format_template_row_format format_template_rows_between_delimiter
format_tsv_null_representation ignore_data_skipping_indices input_format_hive_text_collection_items_delimiter
input_format_hive_text_fields_delimiter input_format_hive_text_map_keys_delimiter input_format_mysql_dump_table_name
input_format_orc_reader_time_zone_name insert_deduplication_token log_comment output_format_avro_codec
output_format_avro_string_column_pattern output_format_image_terminal_mode output_format_orc_writer_time_zone_name
output_format_pretty_grid_charset output_format_sql_insert_table_name preferred_optimize_projection_name query_cache_tag session_timezone
temporary_files_codec workload
`);

export const closedTextSettings: readonly string[] = words(`
additional_result_filter additional_table_filters ai_function_embedding_default_credentials ai_function_text_default_credentials
cluster_for_parallel_replicas compatibility dialect distributed_cache_file_cache_name distributed_plan_force_exchange_kind
filesystem_cache_name format_avro_schema_registry_url format_schema format_schema_source format_template_resultset format_template_row
function_implementation http_response_headers iceberg_metadata_compression_method implicit_table_at_top_level
input_format_record_errors_file_path local_filesystem_read_method metrics_perf_events_list network_compression_method
output_format_avro_confluent_subject output_format_schema parallel_replicas_custom_key polyglot_dialect promql_database promql_table
remote_filesystem_read_method rename_files_after_processing s3queue_default_zookeeper_path schema_inference_hints send_logs_source_regexp
stream_like_engine_insert_queue trace_profile_events_list url_base
`);

/** The same for settings of MergeTree tables. */
export const openTableSettings: readonly string[] = words(`
auto_statistics_types columns_to_prewarm_mark_cache default_compression_codec exclude_materialize_skip_indexes_on_merge
marks_compression_codec merge_workload mutation_workload primary_key_compression_codec
`);

export const closedTableSettings: readonly string[] = words(`
cache_populated_by_fetch_filename_regexp disk remote_fs_zero_copy_zookeeper_path storage_policy
`);

/** Types whose values are strings, or that switch the engine to another language. */
export const textTypes: readonly string[] = ['String', 'Map', 'URI', 'Timezone', 'Char', 'Dialect'];
