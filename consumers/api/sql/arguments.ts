// Rules for arguments that name something or determine the size of a result. Such an argument must be a literal or a bound value, so that
// it can be checked. Values that depend on others (an alias, concat(…), *) are refused.
import type { AstNode } from './ast.ts';
import { isAllowedAggregate, lowerCaseNames } from './functions.ts';
import { isAllowedType, isZone } from './types.ts';

/**
 * What to do instead; undefined when the arguments are fine. `isColumn` distinguishes a table column from a name that the statement
 * declares.
 */
type ArgumentRule = (args: readonly AstNode[], isColumn: (name: string) => boolean) => string | undefined;

const TYPE_ADVICE = "write a plain type as a literal, such as 'Array(String)'; states of aggregates are no such type";
const ZONE_ADVICE = "write the time zone as a literal, such as 'Europe/Berlin'";
const AGGREGATE_ADVICE = "write the aggregate function as a literal, such as 'sum'";

const typeAt =
  (at: number): ArgumentRule =>
  (args) => {
    const text = textOf(args.at(at));
    return text !== undefined && isAllowedType(text) ? undefined : TYPE_ADVICE;
  };

const aggregateFirst: ArgumentRule = ([first]) => {
  const [, name] = /^(\w+)(?:\([\d., ]*\))?$/.exec(textOf(first) ?? '') ?? [];
  return name !== undefined && isAllowedAggregate(name) ? undefined : AGGREGATE_ADVICE;
};

/** Functions that return a time; their calls may appear where a time zone is allowed. */
const MOMENTS = new Set(['todate', 'todate32', 'todatetime', 'todatetime64', 'now', 'today']);

const zonesFrom =
  (first: number): ArgumentRule =>
  (args) =>
    args.slice(first).every(isZoneOrNoText) ? undefined : ZONE_ADVICE;

function isZoneOrNoText(node: AstNode): boolean {
  const text = textOf(node);
  if (text !== undefined) return isZone(text);
  if (node.kind === 'Literal') return /^U?Int64_\d+/.test(node.payload);
  return node.kind === 'Function' && MOMENTS.has(node.payload.toLowerCase());
}

const atMost =
  (limit: number, at: number): ArgumentRule =>
  (args) => {
    const count = /^UInt64_(\d+)/.exec(args[at]?.kind === 'Literal' ? args[at].payload : '')?.[1];
    return count !== undefined && Number(count) <= limit ? undefined : `write the length as a number of at most ${limit}`;
  };

const SHORT_CHARS = 10_000;

/** The function compares every pair of elements, so one of the two arrays must be a literal. */
const oneIsShort: ArgumentRule = (args) =>
  args.some(isShortList) ? undefined : "write one of the two as a list, such as ['a', 'b']; or use arrayIntersect";

function isShortList(node: AstNode): boolean {
  if (node.kind === 'Literal') return node.payload.length <= SHORT_CHARS;
  const items = node.children[0]?.children ?? [];
  if (node.kind !== 'Function' || items.length > 100) return false;
  return node.payload === 'array' ? items.every(isSingle) : node.payload === '_CAST' && items.every(isShortList);
}

/** A column value or a literal; several elements must be in an array of their own. */
const isSingle = ({ kind }: AstNode): boolean => kind === 'Literal' || kind === 'Identifier';

const LONGEST_TEXT = 100_000;
const CUTS = new Set(['left', 'leftutf8', 'substring', 'substringutf8', 'substr', 'mid']);
const KEEPS_LENGTH = new Set(
  lowerCaseNames(
    'assumeNotNull ifNull JSONExtractRaw JSONExtractString lower lowerUTF8 toString trimBoth trimLeft trimRight upper upperUTF8',
  ),
);

/** Finding all matches of an expression or path can take time quadratic in the text's length, so a computed text must be truncated. */
const textAt =
  (at: number): ArgumentRule =>
  (args, isColumn) =>
    isBoundedText(args[at], isColumn) ? undefined : `give it a column, or cut the text: left(…, ${LONGEST_TEXT})`;

function isBoundedText(node: AstNode | undefined, isColumn: (name: string) => boolean): boolean {
  if (node?.kind === 'Identifier') return isColumn(node.payload);
  if (node?.kind !== 'Function') return node?.kind === 'Literal';
  const name = node.payload.toLowerCase();
  const args = node.children[0]?.children ?? [];
  if (CUTS.has(name)) return atMost(LONGEST_TEXT, args.length - 1)(args, isColumn) === undefined;
  return KEEPS_LENGTH.has(name) && args.every((arg) => isBoundedText(arg, isColumn));
}

/** The value of a text literal, including a bound String; undefined for anything else, and for texts with other escapes. */
function textOf(node: AstNode | undefined): string | undefined {
  if (node?.kind !== 'Literal') return undefined;
  return /^'((?:[^'\\]|\\['\\])*)'$/s.exec(node.payload)?.[1]?.replace(/\\(['\\])/g, '$1');
}

const ZONES: Readonly<Record<number, string>> = {
  0: 'current_timestamp localtimestamp now nowInBlock',
  1: `date day dayofmonth dayofyear from_utc_timestamp fromUnixTimestamp64Micro fromUnixTimestamp64Milli fromUnixTimestamp64Nano
    fromUnixTimestamp64Second fromUTCTimestamp hour last_day microsecond millisecond minute month nanosecond now64 nowInBlock64
    parseDateTime32BestEffort parseDateTime32BestEffortOrNull parseDateTime32BestEffortOrZero parseDateTimeBestEffort
    parseDateTimeBestEffortOrNull parseDateTimeBestEffortOrZero parseDateTimeBestEffortUS parseDateTimeBestEffortUSOrNull
    parseDateTimeBestEffortUSOrZero quarter second timeSlot timezoneOffset to_days to_utc_timestamp toDate toDate32 toDateTime
    toDateTime32 toDateTimeOrDefault toDateTimeOrNull toDateTimeOrZero toDayOfMonth toDayOfYear toDaysInMonth toDaysSinceYearZero
    toHour toISOWeek toISOYear toLastDayOfMonth toMicrosecond toMillisecond toMinute toMonday toMonth toMonthNumSinceEpoch
    toNanosecond toQuarter toRelativeDayNum toRelativeHourNum toRelativeMinuteNum toRelativeMonthNum toRelativeQuarterNum
    toRelativeSecondNum toRelativeWeekNum toRelativeYearNum toSecond toStartOfDay toStartOfFifteenMinutes toStartOfFiveMinute
    toStartOfFiveMinutes toStartOfHour toStartOfISOYear toStartOfMicrosecond toStartOfMillisecond toStartOfMinute toStartOfMonth
    toStartOfNanosecond toStartOfQuarter toStartOfSecond toStartOfTenMinutes toStartOfYear toString toTimeWithFixedDate toTimezone
    toUnixTimestamp toUTCTimestamp toYear toYearNumSinceEpoch toYYYYMM toYYYYMMDD toYYYYMMDDhhmmss UUIDv7ToDateTime year
    YYYYMMDDhhmmssToDateTime`,
  2: `addDays addHours addMicroseconds addMilliseconds addMinutes addMonths addNanoseconds addQuarters addSeconds addWeeks addYears
    date_bin date_format date_trunc dateName dateTrunc dayofweek formatDateTime formatDateTimeInJodaSyntax from_unixtime
    fromUnixTimestamp fromUnixTimestampInJodaSyntax parseDateTime parseDateTime64 parseDateTime64BestEffort
    parseDateTime64BestEffortOrNull parseDateTime64BestEffortOrZero parseDateTime64BestEffortUS parseDateTime64BestEffortUSOrNull
    parseDateTime64BestEffortUSOrZero parseDateTime64InJodaSyntax parseDateTime64InJodaSyntaxOrNull parseDateTime64InJodaSyntaxOrZero
    parseDateTime64OrNull parseDateTime64OrZero parseDateTimeInJodaSyntax parseDateTimeInJodaSyntaxOrNull parseDateTimeInJodaSyntaxOrZero
    parseDateTimeOrNull parseDateTimeOrZero snowflakeIDToDateTime snowflakeIDToDateTime64 str_to_date subtractDays subtractHours
    subtractMicroseconds subtractMilliseconds subtractMinutes subtractMonths subtractNanoseconds subtractQuarters subtractSeconds
    subtractWeeks subtractYears time_bucket to_unixtime toDateTime64 toDateTime64OrDefault toDateTime64OrNull toDateTime64OrZero
    toDayOfWeek toLastDayOfWeek toStartOfInterval toStartOfWeek toWeek toYearWeek tumble tumbleEnd tumbleStart week windowID yearweek
    YYYYMMDDhhmmssToDateTime64`,
  3: 'age date_diff dateDiff hop hopEnd hopStart timestamp_diff timestampDiff',
  6: 'makeDateTime',
  8: 'makeDateTime64',
};

const RULES: ReadonlyMap<string, ArgumentRule> = new Map([
  ...rules('CAST _CAST accurateCast accurateCastOrNull accurateCastOrDefault reinterpret variantElement dynamicElement', typeAt(1)),
  ...rules('JSONExtract JSONExtractCaseInsensitive JSONExtractKeysAndValues JSONExtractKeysAndValuesCaseInsensitive', typeAt(-1)),
  ...rules('arrayReduce', aggregateFirst),
  ...rules('hasAll hasAny', oneIsShort),
  ...rules(
    `countMatches countMatchesCaseInsensitive extractAll extractAllGroups extractAllGroupsHorizontal extractAllGroupsVertical JSON_EXISTS JSON_QUERY JSON_VALUE regexp_replace
    replaceRegexpAll`,
    textAt(0),
  ),
  ...rules('splitByRegexp', textAt(1)),
  ...rules('leftPad leftPadUTF8 lpad repeat rightPad rightPadUTF8 rpad toFixedString', atMost(10_000, 1)),
  ...rules('arrayWithConstant randomFixedString randomPrintableASCII randomString randomStringUTF8 space', atMost(10_000, 0)),
  ...rules('arrayResize', atMost(100_000, 1)),
  ...Object.entries(ZONES).flatMap(([first, names]) => rules(names, zonesFrom(Number(first)))),
]);

function rules(names: string, rule: ArgumentRule): readonly (readonly [string, ArgumentRule])[] {
  return lowerCaseNames(names).map((name) => [name, rule]);
}

/** True when a function has argument rules, so that its bare name must not stand for a call. */
export const hasRule = (name: string): boolean => RULES.has(name.toLowerCase());

const SPREAD = /^(?:Qualified)?(?:Asterisk|Columns\w+)$/;

/** What to do instead of the arguments of a call; undefined when they are fine. */
export function adviceOnArguments(node: AstNode, isColumn: (name: string) => boolean): string | undefined {
  const rule = RULES.get(node.payload.toLowerCase());
  if (rule === undefined) return undefined;
  const args = node.children[0]?.children ?? [];
  if (args.some(({ kind }) => SPREAD.test(kind))) return 'name each argument; * and COLUMNS cannot stand for them';
  return rule(args, isColumn);
}
