// What can be exported, and the SQL statements that read it. A statement consists only of these pieces, bound parameters, and a condition
// that was checked to be one harmless expression.
//
// An export reads slices: rows between two keys, in the order of the keys. So no statement reads more than a slice. Rows that are stored
// during the export are left out: `ends` has the offset of each partition where the export stops.

import { baseTools } from '../../streams/core/tools.ts';

/** Kinds that SQL alone produces. */
const tableKinds = ['trajectories', 'turns', 'sft', 'preferences'] as const;
type TableKind = (typeof tableKinds)[number];
export const exportKinds = [...tableKinds, 'rows'] as const;
export type ExportKind = (typeof exportKinds)[number];

export const chatForms = ['text', 'tools'] as const;
export type ChatForm = (typeof chatForms)[number];

/** The table whose columns a condition uses. */
export const conditionTable = (kind: ExportKind): 'turns' | 'trajectories' => (kind === 'turns' ? 'turns' : 'trajectories');

export interface ExportSelection {
  readonly kind: TableKind;
  /** One expression over the columns of the table, in parentheses; undefined for all rows. */
  readonly condition: string | undefined;
  /** How chats contain tool calls: in the text as the policy wrote it, or as `tool_calls` with ids, as chat templates expect them. */
  readonly chat: ChatForm;
}

/** Maximum turns of one attempt in a unit. */
const BLOCK_TURNS = 500;

/** The position of a row in the order of the export. */
export interface Key {
  /** The trajectory or, for a preference pair, the group. */
  readonly id: string;
  readonly attempt: number;
  readonly block: number;
}

/** What slices never divide: an attempt, a block of its turns, or a group. */
export interface ExportUnit extends Key {
  readonly rows: number;
  /** Approximate. */
  readonly bytes: number;
  /** Its lowest and highest trajectory id. */
  readonly low: string;
  readonly high: string;
}

export const FIRST: Key = { id: '', attempt: -2_147_483_648, block: -2_147_483_648 };

export const BEFORE_END = '_offset < transform(_partition, {partitions:Array(Int32)}, {ends:Array(Int64)}, toInt64(0))';

/** The end of each partition of a run, by the rows that are in the tables now. */
export const endsStatement = `select _partition as partition, max(_offset) + 1 as end from
  (select _partition, _offset from turns where run_id = {run:String}
   union all select _partition, _offset from trajectories where run_id = {run:String})
  group by partition order by partition`;

const where = (selection: ExportSelection | undefined): string => (selection?.condition === undefined ? '' : ` and ${selection.condition}`);

/** Attempts that the trainer counts; others have no outcome, and the next attempt may have one. */
const COUNTS = "status in ('answered', 'max_turns', 'max_tokens', 'timeout') and isFinite(reward)";

/**
 * Trajectories that count: for each, the first attempt in the log that counts. Those of an evaluation do not count, because a model must
 * not be trained on what it is measured with.
 */
export function counted(selection: ExportSelection | undefined, range: string): string {
  return `(select * from (
      select * from trajectories where run_id = {run:String} and ${range} and ${BEFORE_END} and ${COUNTS}
      order by trajectory_id, _offset limit 1 by trajectory_id)
    where purpose != 'eval'${where(selection)})`;
}

const UNITS: Readonly<Record<TableKind, (selection: ExportSelection) => string>> = {
  trajectories: (
    selection,
  ) => `select trajectory_id as id, attempt, toInt32(0) as block, toUInt64(1) as rows, toUInt64(2000) as bytes, id as low, id as high
    from (select trajectory_id, attempt from trajectories where run_id = {run:String} and trajectory_id >= {id:String}
      and (trajectory_id, attempt) > ({id:String}, {attempt:Int32}) and ${BEFORE_END}${where(selection)}
      order by trajectory_id, attempt limit 1 by trajectory_id, attempt limit {units:UInt32})
    order by id, attempt`,
  turns: (selection) => `select trajectory_id as id, attempt, part as block, count() as rows,
      sum(weight) as bytes, id as low, id as high
    from (select trajectory_id, attempt, intDiv(turn, ${BLOCK_TURNS}) as part,
        400 + length(text) + length(tool_result) + length(tool_arguments) + 4 * length(token_ids) + 4 * length(logprobs) as weight from turns
      where run_id = {run:String} and trajectory_id >= {id:String}
      and (trajectory_id, attempt, intDiv(turn, ${BLOCK_TURNS})) > ({id:String}, {attempt:Int32}, {block:Int32}) and ${BEFORE_END}${where(selection)})
    group by trajectory_id, attempt, part order by id, attempt, block limit {units:UInt32}`,
  sft: (selection) => `select trajectory_id as id, attempt, toInt32(0) as block, toUInt64(1) as rows,
      toUInt64(2000 + 4000 * greatest(turns, 0)) as bytes, id as low, id as high
    from ${counted(selection, 'trajectory_id >= {id:String}')}
    where trajectory_id > {id:String} and reward > {min_reward:Float64}
    order by id limit {units:UInt32}`,
  preferences: (selection) => `select group_id as id, toInt32(0) as attempt, toInt32(0) as block, toUInt64(1) as rows,
      toUInt64(2000 + 4000 * greatest(argMax(turns, reward) + argMin(turns, reward), 0)) as bytes,
      min(trajectory_id) as low, max(trajectory_id) as high
    from ${counted(selection, 'group_id > {id:String}')}
    group by id having max(reward) > min(reward) order by id limit {units:UInt32}`,
};

/** The units that follow a key, in order: at most `units` of them. */
export const unitsStatement = (selection: ExportSelection): string => UNITS[selection.kind](selection);

const IN_RANGE = 'trajectory_id >= {low:String} and trajectory_id <= {high:String}';

const RESULT = "if(tool_result != '', tool_result, concat(tool_status, if(tool_error_type = '', '', ': '), tool_error_type))";
const ENDS = "tool = 'answer' or (tool = '' and tool_result = '' and tool_status = 'ok')";
const CALL_ID = "if(call_id = '', concat('call_', toString(turn)), call_id)";
/** Calls in the text of the policy: as tags, or in a list at its end. Removed from the text where `tool_calls` contains them. */
const WRITTEN_CALLS = [...baseTools.map(({ name }) => `<${name}>.*?</${name}>`), '<tool_calls>.*</tool_calls>$'].join('|');
const UNTAGGED = `trimRight(replaceRegexpAll(replaceRegexpAll(text, '(?s)${WRITTEN_CALLS}', ''), concat('(?s)<', tool, '>.*?</', tool, '>'), ''))`;
const CALLS = 'Array(Tuple(id String, type String, function Tuple(name String, arguments String)))';
const NO_CALLS = `CAST([], '${CALLS}')`;

const MESSAGE_TYPE: Readonly<Record<ChatForm, string>> = {
  text: 'Tuple(role String, content String)',
  tools: `Tuple(role String, content String, tool_calls ${CALLS}, tool_call_id String, name String)`,
};
const chatType = (chat: ChatForm): string => `Array(${MESSAGE_TYPE[chat]})`;

/** A message without tool calls. */
const plain = (chat: ChatForm, role: string, content: string): string =>
  chat === 'text' ? `('${role}', ${content})` : `('${role}', ${content}, ${NO_CALLS}, '', '')`;

const SAID: Readonly<Record<ChatForm, string>> = {
  text: `if(${ENDS}, [('assistant', text)], [('assistant', text), ('tool', ${RESULT})])`,
  tools: `multiIf(
          ${ENDS}, [${plain('tools', 'assistant', 'text')}],
          tool = '', [${plain('tools', 'assistant', 'text')}, ${plain('tools', 'user', RESULT)}],
          [('assistant', ${UNTAGGED}, CAST([(${CALL_ID}, 'function', (toString(tool), tool_arguments))], '${CALLS}'), '', ''),
           ('tool', ${RESULT}, ${NO_CALLS}, ${CALL_ID}, toString(tool))])`,
};

/**
 * Turns as messages: what the model wrote, and what the tool returned. If a tool returned no text, its status stands for it; the answer
 * ends the conversation. Only the texts of the chosen trajectories are read: `chosen` selects their ids.
 */
const messages = (
  chat: ChatForm,
  chosen: string,
): string => `select trajectory_id, attempt, uniqExact(turn) as known_turns, max(truncated) as any_truncated,
      arrayFlatten(arrayMap(one -> one.2, arraySort(one -> one.1, groupArray((turn, said))))) as spoken
    from (select trajectory_id, attempt, turn, truncated,
        ${SAID[chat]} as said
      from turns where run_id = {run:String} and ${IN_RANGE} and trajectory_id in (${chosen}) and ${BEFORE_END}
      order by trajectory_id, attempt, turn, _offset limit 1 by trajectory_id, attempt, turn)
    group by trajectory_id, attempt`;

/** Trajectories of a slice with a reward above `min_reward`. */
const rewarded = (selection: ExportSelection): string => `select * from ${counted(selection, IN_RANGE)}
    where reward > {min_reward:Float64} and trajectory_id > {id:String} and trajectory_id <= {last_id:String}`;

/** The best and the worst trajectory of each group of a slice, at places 1 and 2. */
const extremes = (
  selection: ExportSelection,
): string => `select group_id, group_members, place, picked.1 as trajectory_id, picked.2 as attempt, picked.3 as reward, picked.4 as turns,
          picked.5 as question, picked.6 as question_id
        from (
          select group_id, count() as group_members, groupArray((trajectory_id, attempt, reward, turns, question, question_id)) as members,
            [arraySort(one -> (-one.3, one.1), members)[1], arraySort(one -> (one.3, one.1), members)[1]] as extremes
          from ${counted(selection, `group_id > {id:String} and group_id <= {last_id:String} and ${IN_RANGE}`)}
          group by group_id having max(reward) > min(reward))
        array join extremes as picked, [1, 2] as place`;

const bounded = (key: string): string => `${key} > ({id:String}, {attempt:Int32}) and ${key} <= ({last_id:String}, {last_attempt:Int32})`;

const BLOCK = `(trajectory_id, attempt, intDiv(turn, ${BLOCK_TURNS}))`;

const ROWS: Readonly<Record<TableKind, (selection: ExportSelection) => string>> = {
  trajectories: (selection) => `select * from trajectories
    where run_id = {run:String} and ${IN_RANGE} and ${bounded('(trajectory_id, attempt)')} and ${BEFORE_END}${where(selection)}
    order by trajectory_id, attempt, _offset limit 1 by trajectory_id, attempt`,
  turns: (selection) => `select * from turns
    where run_id = {run:String} and ${IN_RANGE} and ${BLOCK} > ({id:String}, {attempt:Int32}, {block:Int32})
      and ${BLOCK} <= ({last_id:String}, {last_attempt:Int32}, {last_block:Int32}) and ${BEFORE_END}${where(selection)}
    order by trajectory_id, attempt, turn, _offset limit 1 by trajectory_id, attempt, turn`,
  sft: (
    selection,
  ) => `select CAST(arrayConcat([${plain(selection.chat, 'user', 'ended.question')}], told.spoken), '${chatType(selection.chat)}') as messages,
      ended.reward, ended.run_id, trajectory_id, ended.group_id, attempt, ended.question_id,
      ended.answer, ended.f1, ended.em, ended.status, ended.turns, ended.tool_calls,
      ended.completion_tokens, ended.version_first, ended.version_last,
      told.any_truncated as truncated
    from (${rewarded(selection)}) as ended
    inner join (${messages(selection.chat, `select trajectory_id from (${rewarded(selection)})`)}) as told using (trajectory_id, attempt)
    where told.known_turns = ended.turns
    order by trajectory_id`,
  preferences: (selection) => `select [CAST(${plain(selection.chat, 'user', 'asked')}, '${MESSAGE_TYPE[selection.chat]}')] as prompt,
      CAST(best_spoken, '${chatType(selection.chat)}') as chosen, CAST(worst_spoken, '${chatType(selection.chat)}') as rejected,
      best_reward as chosen_reward, worst_reward as rejected_reward, {run:String} as run_id, group_id, asked_id as question_id,
      best_trajectory as chosen_trajectory_id, best_attempt as chosen_attempt,
      worst_trajectory as rejected_trajectory_id, worst_attempt as rejected_attempt, members as group_size, any_cut as truncated
    from (
      select group_id, any(group_members) as members, any(question) as asked, any(question_id) as asked_id,
        anyIf(told.spoken, place = 1) as best_spoken, anyIf(told.spoken, place = 2) as worst_spoken,
        anyIf(reward, place = 1) as best_reward, anyIf(reward, place = 2) as worst_reward,
        anyIf(trajectory_id, place = 1) as best_trajectory, anyIf(trajectory_id, place = 2) as worst_trajectory,
        anyIf(attempt, place = 1) as best_attempt, anyIf(attempt, place = 2) as worst_attempt, max(told.any_truncated) as any_cut
      from (${extremes(selection)}) as picks
      inner join (${messages(selection.chat, `select trajectory_id from (${extremes(selection)})`)}) as told using (trajectory_id, attempt)
      where told.known_turns = picks.turns
      group by group_id having count() = 2)
    order by group_id`,
};

/** The first `rows` rows of the units after one key, up to and including another; deterministic in content and order. */
export const rowsStatement = (selection: ExportSelection): string => `${ROWS[selection.kind](selection)} limit {rows:UInt64}`;
