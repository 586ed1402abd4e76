// The table of features. A feature depends on the question's words, the pages read and the action, never on a gold answer. Append only:
// stored weights have this width.

/** Names in column order. */
export const featureNames = [
  'bias',
  'is_search',
  'is_result',
  'is_link',
  'is_answer',
  'turn_fraction',
  'pages_asked',
  'progress',
  'progress_of_search',
  'progress_of_result',
  'progress_of_link',
  'progress_of_answer',
  'query_question',
  'query_last_clause',
  'query_head',
  'query_middle',
  'query_span',
  'query_title_and_head',
  'query_length',
  'query_covers_last',
  'queries_made',
  'unread_anchor',
  'result_reciprocal_rank',
  'result_anchor',
  'result_is_best_anchor',
  'result_covers_head',
  'link_fits_middle',
  'link_is_largest',
  'link_is_smallest',
  'link_direction',
  'link_source_anchor',
  'link_wanted',
  'links_beside',
  'answer_asked',
  'answer_asked_of_label',
  'answer_fits_last',
  'answer_is_best',
  'answer_page_stage',
  'answer_page_is_last_read',
  'answer_best_on_final_page',
  'cut_whole',
  'cut_fragment',
  'cut_quoted',
  'cut_date',
  'cut_unmeasured',
  'cut_before_parenthesis',
  'cut_slash_first',
  'cut_slash_second',
  'slash_fits',
  'date_asked_and_date',
  'date_asked_and_none',
  'cleaner_cut_exists',
  'answer_length',
  'answer_has_digit',
  'answer_capitals',
  'answer_in_question',
  'answer_position',
  'person_asked_and_capitals',
  'answer_likeness',
  'query_is_numeric',
  'query_other_place',
  'query_joined',
  'hard_found',
  'hard_sought',
  'hard_search_found',
  'hard_search_sought',
  'hard_access_found',
  'hard_answer_sought',
  'hard_result',
  'hard_link',
  'access_fit',
  'access_want',
  'access_is_most_wanted',
  'access_fits_nothing',
  'query_name',
  'query_relation',
  'query_bounds',
  'query_want',
  'query_is_most_wanted',
  'answer_found',
  'answer_is_most_found',
  'answer_best_on_found',
] as const;

export type FeatureName = (typeof featureNames)[number];

/** Number of columns of the feature matrix; the inputs of the network. */
export const RANKER_WIDTH = featureNames.length;

/** Missing features are 0. */
export type FeatureValues = Partial<Record<FeatureName, number>>;

const columns = new Map<string, number>(featureNames.map((name, at) => [name, at]));

/** Writes values into a feature row; non-finite values become 0. */
export function writeRow(row: Float32Array, values: FeatureValues): Float32Array {
  for (const name in values) {
    const column = columns.get(name);
    const value = values[name as FeatureName] ?? 0;
    if (column !== undefined && Number.isFinite(value)) row[column] = value;
  }
  return row;
}

/** A new row with the values. */
export const rowOf = (values: FeatureValues): Float32Array => writeRow(new Float32Array(RANKER_WIDTH), values);
