// The functions that a query may call. Any other name is refused, so that new functions of the engine, server configuration or user-defined
// functions reach nothing by default. Deliberately excluded: functions that read files, URLs, dictionaries, other tables, settings or the
// host (file, url, dictGet, joinGet, getSetting, hostName, …), that wait (sleep), call a model (aiGenerate, catboostEvaluate), expose the
// engine's internals, or take serialized states. Also excluded: functions whose cost is more than linear in their arguments and that the
// engine cannot interrupt (editDistance, JSONMergePatch, arrayFold, seriesDecomposeSTL, …); npm run fuzz:sql -- --costs finds such
// functions.

const scalarNames = namesIn(`
    _CAST array_concat_agg bar byteSize caseWithExpr caseWithExpression countDigits current_database currentDatabase DATABASE digits
    FORMAT_BYTES formatReadableDecimalSize formatReadableQuantity formatReadableSize formatReadableTimeDelta getSubcolumn identity
    ignore indexHint isConstant isDecimalOverflow lowCardinalityIndices lowCardinalityKeys materialize minSampleSizeContinous
    minSampleSizeContinuous minSampleSizeConversion neighbor parseReadableSize parseReadableSizeOrNull parseReadableSizeOrZero
    parseTimeDelta rowNumberInAllBlocks rowNumberInBlock runningConcurrency runningDifference
    runningDifferenceStartingWithFirstValue throwIf toColumnTypeName toTypeName transform
    variantElement variantType version grouping exists lambda
    abs avg2 byteSwap divide divideDecimal divideOrNull gcd ifNotFinite intDiv intDivOrNull intDivOrZero isFinite isInfinite isNaN lcm
    max2 midpoint min2 minus mod modOrNull modulo moduloLegacy moduloOrNull moduloOrZero multiply multiplyDecimal negate plus pmod
    pmodOrNull positive_modulo positive_modulo_or_null positiveModulo positiveModuloOrNull sqr
    accurateCast accurateCastOrDefault accurateCastOrNull CAST DATE fromUnixTimestamp64Micro fromUnixTimestamp64Milli
    fromUnixTimestamp64Nano fromUnixTimestamp64Second parseDateTime parseDateTime32BestEffort parseDateTime32BestEffortOrNull
    parseDateTime32BestEffortOrZero parseDateTime64 parseDateTime64BestEffort parseDateTime64BestEffortOrNull
    parseDateTime64BestEffortOrZero parseDateTime64BestEffortUS parseDateTime64BestEffortUSOrNull parseDateTime64BestEffortUSOrZero
    parseDateTime64InJodaSyntax parseDateTime64InJodaSyntaxOrNull parseDateTime64InJodaSyntaxOrZero parseDateTime64OrNull
    parseDateTime64OrZero parseDateTimeBestEffort parseDateTimeBestEffortOrNull parseDateTimeBestEffortOrZero parseDateTimeBestEffortUS
    parseDateTimeBestEffortUSOrNull parseDateTimeBestEffortUSOrZero parseDateTimeInJodaSyntax parseDateTimeInJodaSyntaxOrNull
    parseDateTimeInJodaSyntaxOrZero parseDateTimeOrNull parseDateTimeOrZero reinterpret reinterpretAsDate reinterpretAsDateTime
    reinterpretAsFixedString reinterpretAsFloat32 reinterpretAsFloat64 reinterpretAsInt128 reinterpretAsInt16 reinterpretAsInt256
    reinterpretAsInt32 reinterpretAsInt64 reinterpretAsInt8 reinterpretAsString reinterpretAsUInt128 reinterpretAsUInt16
    reinterpretAsUInt256 reinterpretAsUInt32 reinterpretAsUInt64 reinterpretAsUInt8 reinterpretAsUUID str_to_date TO_UNIXTIME toBFloat16
    toBFloat16OrNull toBFloat16OrZero toBool toDate toDate32 toDate32OrDefault toDate32OrNull toDate32OrZero toDateOrDefault
    toDateOrNull toDateOrZero toDateTime toDateTime32 toDateTime64 toDateTime64OrDefault toDateTime64OrNull toDateTime64OrZero
    toDateTimeOrDefault toDateTimeOrNull toDateTimeOrZero toDecimal128 toDecimal128OrDefault toDecimal128OrNull toDecimal128OrZero
    toDecimal256 toDecimal256OrDefault toDecimal256OrNull toDecimal256OrZero toDecimal32 toDecimal32OrDefault toDecimal32OrNull
    toDecimal32OrZero toDecimal64 toDecimal64OrDefault toDecimal64OrNull toDecimal64OrZero toDecimalString toFixedString toFloat32
    toFloat32OrDefault toFloat32OrNull toFloat32OrZero toFloat64 toFloat64OrDefault toFloat64OrNull toFloat64OrZero toInt128
    toInt128OrDefault toInt128OrNull toInt128OrZero toInt16 toInt16OrDefault toInt16OrNull toInt16OrZero toInt256 toInt256OrDefault
    toInt256OrNull toInt256OrZero toInt32 toInt32OrDefault toInt32OrNull toInt32OrZero toInt64 toInt64OrDefault toInt64OrNull
    toInt64OrZero toInt8 toInt8OrDefault toInt8OrNull toInt8OrZero toInterval toIntervalDay toIntervalHour toIntervalMicrosecond
    toIntervalMillisecond toIntervalMinute toIntervalMonth toIntervalNanosecond toIntervalQuarter toIntervalSecond toIntervalWeek
    toIntervalYear toLowCardinality toString toStringCutToZero toTime toTime64 toTime64OrNull toTime64OrZero toTimeOrNull toTimeOrZero
    toUInt128 toUInt128OrDefault toUInt128OrNull toUInt128OrZero toUInt16 toUInt16OrDefault toUInt16OrNull toUInt16OrZero toUInt256
    toUInt256OrDefault toUInt256OrNull toUInt256OrZero toUInt32 toUInt32OrDefault toUInt32OrNull toUInt32OrZero toUInt64
    toUInt64OrDefault toUInt64OrNull toUInt64OrZero toUInt8 toUInt8OrDefault toUInt8OrNull toUInt8OrZero toUnixTimestamp64Micro
    toUnixTimestamp64Milli toUnixTimestamp64Nano toUnixTimestamp64Second toUUID toUUIDOrZero
    acos acosh asin asinh atan atan2 atanh cbrt cos cosh degrees e erf erfc exp exp10 exp2 factorial hypot intExp10 intExp2 isPrime
    isProbablePrime lgamma ln log log10 log1p log2 pi pow power proportionsZTest radians sigmoid sign sin sinh sqrt tan tanh tgamma
    width_bucket widthBucket
    addDate addDays addHours addInterval addMicroseconds addMilliseconds addMinutes addMonths addNanoseconds addQuarters addSeconds
    addTupleOfIntervals addWeeks addYears age changeDay changeHour changeMinute changeMonth changeSecond changeYear curdate current_date
    current_timestamp date_bin DATE_DIFF date_diff DATE_FORMAT DATE_TRUNC dateDiff dateName dateTrunc DAY DAYOFMONTH DAYOFWEEK DAYOFYEAR
    formatDateTime formatDateTimeInJodaSyntax FROM_DAYS FROM_UNIXTIME from_utc_timestamp fromDaysSinceYearZero fromDaysSinceYearZero32
    fromModifiedJulianDay fromModifiedJulianDayOrNull fromUnixTimestamp fromUnixTimestampInJodaSyntax fromUTCTimestamp HOUR LAST_DAY
    localtime localtimestamp makeDate makeDate32 makeDateTime makeDateTime64 MICROSECOND MILLISECOND MINUTE MONTH monthName NANOSECOND
    now now64 nowInBlock nowInBlock64 QUARTER SECOND serverTimeZone serverTimezone subDate subtractDays subtractHours subtractInterval
    subtractMicroseconds subtractMilliseconds subtractMinutes subtractMonths subtractNanoseconds subtractQuarters subtractSeconds
    subtractTupleOfIntervals subtractWeeks subtractYears time_bucket timeDiff timeSlot timestamp TIMESTAMP_DIFF timestamp_diff
    timestampDiff timeZone timezone timeZoneOf timezoneOf timeZoneOffset timezoneOffset TO_DAYS to_utc_timestamp today toDayOfMonth
    toDayOfWeek toDayOfYear toDaysInMonth toDaysSinceYearZero toHour toISOWeek toISOYear toLastDayOfMonth toLastDayOfWeek toMicrosecond
    toMillisecond toMinute toModifiedJulianDay toModifiedJulianDayOrNull toMonday toMonth toMonthNumSinceEpoch toNanosecond toQuarter
    toRelativeDayNum toRelativeHourNum toRelativeMinuteNum toRelativeMonthNum toRelativeQuarterNum toRelativeSecondNum toRelativeWeekNum
    toRelativeYearNum toSecond toStartOfDay toStartOfFifteenMinutes toStartOfFiveMinute toStartOfFiveMinutes toStartOfHour
    toStartOfInterval toStartOfISOYear toStartOfMicrosecond toStartOfMillisecond toStartOfMinute toStartOfMonth toStartOfNanosecond
    toStartOfQuarter toStartOfSecond toStartOfTenMinutes toStartOfWeek toStartOfYear toTimeWithFixedDate toTimeZone toTimezone
    toUnixTimestamp toUTCTimestamp toWeek toYear toYearNumSinceEpoch toYearWeek toYYYYMM toYYYYMMDD toYYYYMMDDhhmmss UTC_timestamp
    UTCTimestamp week YEAR yearweek yesterday YYYYMMDDhhmmssToDateTime YYYYMMDDhhmmssToDateTime64 YYYYMMDDToDate YYYYMMDDToDate32
    alphaTokens array_to_string arrayStringConcat extractAllGroups extractAllGroupsVertical ngrams reverseBySeparator splitByAlpha
    splitByChar splitByNonAlpha splitByRegexp splitByString splitByWhitespace
    and not or xor
    appendTrailingCharIfAbsent ascii base32Decode base32Encode base58Decode base58Encode base64Decode base64Encode base64URLDecode
    base64URLEncode basename byteHammingDistance byteSlice caseFoldUTF8 CHAR_LENGTH CHARACTER_LENGTH compareSubstrings concat concat_ws
    concatAssumeInjective concatWithSeparator concatWithSeparatorAssumeInjective conv CRC32 CRC32IEEE CRC64
     decodeHTMLComponent decodeXMLComponent encodeXMLComponent endsWith
    endsWithCaseInsensitive endsWithCaseInsensitiveUTF8 endsWithUTF8 extractTextFromHTML firstLine FROM_BASE64 initcap initcapUTF8
    isASCII isValidASCII isValidUTF8 lcase left leftPad leftPadUTF8 leftUTF8 lengthUTF8
      lower lowerUTF8 lpad ltrim mid mismatches
    normalizeUTF8NFC normalizeUTF8NFD normalizeUTF8NFKC normalizeUTF8NFKCCasefold normalizeUTF8NFKD REGEXP_EXTRACT regexp_instr
    REGEXP_SUBSTR regexpExtract regexpInstr regexpPosition removeAccentsUTF8 removeDiacriticsUTF8 repeat reverseUTF8 right rightPad
    rightPadUTF8 rightUTF8 rpad rtrim soundex space startsWith
    startsWithCaseInsensitive startsWithCaseInsensitiveUTF8 startsWithUTF8 stringBytesEntropy stringBytesUniq stringJaccardIndex
    stringJaccardIndexUTF8 substr substring SUBSTRING_INDEX substringIndex substringIndexUTF8 substringUTF8 TO_BASE64 toValidUTF8 trim
    trimBoth trimLeft trimRight tryBase32Decode tryBase58Decode tryBase64Decode tryBase64URLDecode ucase upper upperUTF8
    array array_remove arrayAll arrayAUC arrayAUCPR arrayAvg arrayCompact arrayConcat arrayCount
    arrayCumSum arrayCumSumNonNegative arrayDifference arrayDistinct arrayDotProduct arrayElement arrayElementOrNull arrayEnumerate
    arrayEnumerateDense arrayEnumerateUniq arrayExcept arrayExists arrayFill
    arrayFilter arrayFirst arrayFirstIndex arrayFirstOrNull arrayFlatten arrayIntersect arrayJaccardIndex arrayJoin arrayLast
    arrayLastIndex arrayLastOrNull arrayMap arrayMax arrayMin
    arrayNormalizedGini arrayPartialReverseSort arrayPartialShuffle arrayPartialSort arrayPopBack arrayPopFront arrayPRAUC arrayProduct
    arrayPushBack arrayPushFront arrayRandomSample arrayReduce arrayRemove arrayResize arrayReverse arrayReverseFill
    arrayReverseSort arrayReverseSplit arrayROCAUC arrayRotateLeft arrayRotateRight arrayShiftLeft arrayShiftRight
    arrayShuffle arraySlice arraySort arraySplit arraySum arraySymmetricDifference arrayTranspose arrayUnion
    arrayUniq arrayWithConstant arrayZip arrayZipUnaligned CARDINALITY countEqual empty emptyArrayDate emptyArrayDateTime
    emptyArrayFloat32 emptyArrayFloat64 emptyArrayInt16 emptyArrayInt32 emptyArrayInt64 emptyArrayInt8 emptyArrayString
    emptyArrayToSingle emptyArrayUInt16 emptyArrayUInt32 emptyArrayUInt64 emptyArrayUInt8 flatten has hasAll hasAny indexOf
    indexOfAssumeSorted length notEmpty OCTET_LENGTH range replicate reverse unnest
    assumeNotNull coalesce firstNonDefault ifNull isNotNull isNull isNullable isZeroOrNull nullIf toNullable
    bin bitmaskToArray bitmaskToList bitPositionsToArray char hex hilbertDecode hilbertEncode mortonDecode mortonEncode sqid sqidDecode
    sqidEncode unbin unhex
    bitAnd bitCount bitHammingDistance bitNot bitOr bitRotateLeft bitRotateRight bitShiftLeft bitShiftRight bitSlice bitTest bitTestAll
    bitTestAny bitXor
    caseWithoutExpr caseWithoutExpression clamp greatest if least multiIf
    ceil ceiling floor round roundAge roundBankers roundDown roundDuration roundToExp2 trunc truncate
    cityHash64 farmFingerprint64 farmHash64 gccMurmurHash halfMD5 hiveHash icebergHash intHash32 intHash64 javaHash javaHashUTF16LE
    jumpConsistentHash kafkaMurmurHash keccak256 kostikConsistentHash MD4 MD5 metroHash64 murmurHash2_32 murmurHash2_64 murmurHash3_128
    murmurHash3_32 murmurHash3_64

       RIPEMD160 SHA1 SHA224 SHA256 SHA384 SHA512 SHA512_256
    sipHash128 sipHash128Keyed sipHash128Reference sipHash128ReferenceKeyed sipHash64 sipHash64Keyed URLHash


       wyHash64 xxh3 xxh3_128 xxHash32
    xxHash64 xxHash64Spark yandexConsistentHash
    cosineDistance distanceCosine distanceL1 distanceL2 distanceL2Squared distanceLinf distanceLp L1Distance L1Norm L1Normalize
    L2Distance L2Norm L2Normalize L2SquaredDistance L2SquaredNorm LinfDistance LinfNorm LinfNormalize LpDistance LpNorm LpNormalize
    normalizeL1 normalizeL2 normalizeLinf normalizeLp normL1 normL2 normL2Squared normLinf normLp
    countMatches countMatchesCaseInsensitive countSubstrings countSubstringsCaseInsensitive extract
    extractAll extractAllGroupsHorizontal extractGroups hasSubsequence
    hasSubsequenceCaseInsensitive hasSubsequenceUTF8 hasToken hasTokenCaseInsensitive
    hasTokenCaseInsensitiveOrNull hasTokenOrNull ilike instr like locate match

       multiSearchAny
    multiSearchAnyCaseInsensitive multiSearchAnyUTF8 multiSearchFirstIndex
    multiSearchFirstIndexCaseInsensitive multiSearchFirstIndexUTF8 multiSearchFirstPosition
    multiSearchFirstPositionCaseInsensitive multiSearchFirstPositionUTF8 ngramDistance
    ngramDistanceCaseInsensitive ngramDistanceCaseInsensitiveUTF8 ngramDistanceUTF8 ngramSearch ngramSearchCaseInsensitive
    ngramSearchCaseInsensitiveUTF8 ngramSearchUTF8 notILike notLike position positionCaseInsensitive
    positionUTF8 REGEXP_MATCHES
    cutFragment cutQueryString cutQueryStringAndFragment cutToFirstSignificantSubdomain cutToFirstSignificantSubdomainRFC
    cutToFirstSignificantSubdomainWithWWW cutToFirstSignificantSubdomainWithWWWRFC cutURLParameter cutWWW decodeURLComponent
    decodeURLFormComponent domain domainRFC domainWithoutWWW domainWithoutWWWRFC encodeURLComponent encodeURLFormComponent
    extractURLParameter extractURLParameterNames extractURLParameters firstSignificantSubdomain firstSignificantSubdomainRFC fragment
    netloc path pathFull port portRFC protocol queryString queryStringAndFragment topLevelDomain topLevelDomainRFC URLHierarchy
    URLPathHierarchy
    cutIPv6 INET6_ATON INET6_NTOA INET_ATON INET_NTOA IPv4CIDRToRange IPv4NumToString IPv4NumToStringClassC IPv4StringToNum
    IPv4StringToNumOrDefault IPv4StringToNumOrNull IPv4ToIPv6 IPv6CIDRToRange IPv6NumToString IPv6StringToNum IPv6StringToNumOrDefault
    IPv6StringToNumOrNull isIPAddressInRange isIPv4String isIPv6String toIPv4 toIPv4OrDefault toIPv4OrNull toIPv4OrZero toIPv6
    toIPv6OrDefault toIPv6OrNull toIPv6OrZero
    dateTime64ToSnowflakeID dateTimeToSnowflakeID dateTimeToUUIDv7 generateUUIDv4 generateUUIDv7 snowflakeIDToDateTime
    snowflakeIDToDateTime64 toUUIDOrDefault toUUIDOrNull UUIDNumToString UUIDStringToNum UUIDToNum UUIDv7ToDateTime
    dotProduct flattenTuple scalarProduct tuple tupleConcat tupleDivide tupleDivideByNumber tupleElement tupleHammingDistance
    tupleIntDiv tupleIntDivByNumber tupleIntDivOrZero tupleIntDivOrZeroByNumber tupleMinus tupleModulo tupleModuloByNumber tupleMultiply
    tupleMultiplyByNumber tupleNames tupleNegate tuplePlus tuplePositiveModuloByNumber tupleToNameValuePairs vectorDifference vectorSum
    dynamicElement dynamicType isDynamicElementInSharedData isValidJSON JSON_ARRAY_LENGTH JSON_EXISTS JSON_QUERY JSON_VALUE JSONAllPaths
    JSONAllPathsWithTypes JSONAllValues JSONArrayLength JSONDynamicPaths JSONDynamicPathsWithTypes JSONExtract JSONExtractArrayRaw
    JSONExtractArrayRawCaseInsensitive JSONExtractBool JSONExtractBoolCaseInsensitive JSONExtractCaseInsensitive JSONExtractFloat
    JSONExtractFloatCaseInsensitive JSONExtractInt JSONExtractIntCaseInsensitive JSONExtractKeys JSONExtractKeysAndValues
    JSONExtractKeysAndValuesCaseInsensitive JSONExtractKeysAndValuesRaw JSONExtractKeysAndValuesRawCaseInsensitive
    JSONExtractKeysCaseInsensitive JSONExtractRaw JSONExtractRawCaseInsensitive JSONExtractString JSONExtractStringCaseInsensitive
    JSONExtractUInt JSONExtractUIntCaseInsensitive JSONHas JSONKey JSONLength JSONSharedDataPaths
    JSONSharedDataPathsWithTypes JSONType simpleJSONExtractBool simpleJSONExtractFloat simpleJSONExtractInt
    simpleJSONExtractRaw simpleJSONExtractString simpleJSONExtractUInt simpleJSONHas toJSONString visitParamExtractBool
    visitParamExtractFloat visitParamExtractInt visitParamExtractRaw visitParamExtractString visitParamExtractUInt visitParamHas
    equals globalIn globalNotIn globalNotNullIn globalNullIn greater greaterOrEquals in isDistinctFrom isNotDistinctFrom less
    lessOrEquals notEquals notIn notNullIn nullIn
    extractKeyValuePairs extractKeyValuePairsWithEscaping map MAP_FROM_ARRAYS mapAdd mapAll mapApply mapConcat mapContains
    mapContainsKey mapContainsKeyLike mapContainsValue mapContainsValueLike mapExists mapExtractKeyLike mapExtractValueLike mapFilter
    mapFromArrays mapFromString mapKeys mapPartialReverseSort mapPartialSort mapReverseSort mapSort mapSubtract
    mapUpdate mapValues str_to_map
      financialNetPresentValue financialNetPresentValueExtended
    format overlay overlayUTF8 printf REGEXP_REPLACE regexpQuoteMeta replace replaceAll replaceOne replaceRegexpAll replaceRegexpOne
    translate translateUTF8
    hop hopEnd hopStart tumble tumbleEnd tumbleStart windowID
    rand rand32 rand64 randBernoulli randBinomial randCanonical randChiSquared randConstant randExponential randFisherF randLogNormal
    randNegativeBinomial randNormal randomFixedString randomPrintableASCII randomString randomStringUTF8 randPoisson randStudentT
    randUniform
  `);
const scalars = lowerCased(scalarNames);

const aggregateNames = namesIn(`
    analysisOfVariance anova any any_respect_nulls any_value any_value_respect_nulls anyHeavy anyLast anyLast_respect_nulls
    anyLastRespectNulls anyRespectNulls anyValueRespectNulls approx_top_count approx_top_k approx_top_sum argAndMax argAndMin argMax
    argMin array_agg avg avgWeighted BIT_AND BIT_OR BIT_XOR boundingRatio categoricalInformationValue contingency corr corrMatrix
    corrStable count COVAR_POP COVAR_SAMP covarPop covarPopMatrix covarPopStable covarSamp covarSampMatrix covarSampStable cramersV
    cramersVBiasCorrected cume_dist deltaSum deltaSumTimestamp dense_rank denseRank distinctDynamicTypes distinctJSONPaths
    distinctJSONPathsAndTypes entropy exponentialMovingAverage exponentialTimeDecayedAvg exponentialTimeDecayedCount
    exponentialTimeDecayedMax exponentialTimeDecayedSum first_value first_value_respect_nulls firstValueRespectNulls group_concat
    groupArray groupArrayInsertAt groupArrayIntersect groupArrayLast groupArrayMovingAvg groupArrayMovingSum groupArraySample
    groupArraySorted groupBitAnd groupBitOr groupBitXor groupConcat groupUniqArray histogram intervalLengthSum
    kurtPop kurtSamp lag lagInFrame largestTriangleThreeBuckets last_value last_value_respect_nulls lastValueRespectNulls lead
    leadInFrame mannWhitneyUTest max max_by maxIntersections maxIntersectionsPosition maxMappedArrays meanZTest median medianBFloat16
    medianBFloat16Weighted medianDD medianDeterministic medianExact medianExactHigh medianExactLow medianExactWeighted
    medianExactWeightedInterpolated medianGK medianInterpolatedWeighted medianTDigest medianTDigestWeighted medianTiming
    medianTimingWeighted min min_by minMappedArrays nonNegativeDerivative nth_value ntile percent_rank percentRank quantile
    quantileBFloat16 quantileBFloat16Weighted quantileDD quantileDeterministic quantileExact quantileExactExclusive quantileExactHigh
    quantileExactInclusive quantileExactLow quantileExactWeighted quantileExactWeightedInterpolated quantileGK
    quantileInterpolatedWeighted quantilePrometheusHistogram quantiles quantilesBFloat16 quantilesBFloat16Weighted quantilesDD
    quantilesDeterministic quantilesExact quantilesExactExclusive quantilesExactHigh quantilesExactInclusive quantilesExactLow
    quantilesExactWeighted quantilesExactWeightedInterpolated quantilesGK quantilesInterpolatedWeighted quantilesPrometheusHistogram
    quantilesTDigest quantilesTDigestWeighted quantilesTiming quantilesTimingWeighted quantileTDigest quantileTDigestWeighted
    quantileTiming quantileTimingWeighted rank rankCorr retention row_number sequenceCount sequenceMatch sequenceMatchEvents
    simpleLinearRegression singleValueOrNull skewPop skewSamp sparkBar sparkbar STD STDDEV STDDEV_POP STDDEV_SAMP stddevPop
    stddevPopStable stddevSamp stddevSampStable string_agg studentTTest studentTTestOneSample sum sumCount sumKahan sumMapFiltered
    sumMapFilteredWithOverflow sumMappedArrays sumMapWithOverflow sumWithOverflow theilsU topK topKWeighted uniq uniqCombined
    uniqCombined64 uniqExact uniqHLL12 uniqUpTo VAR_POP VAR_SAMP varPop varPopStable varSamp varSampStable welchTTest windowFunnel
  `);
const aggregates = lowerCased(aggregateNames);

/** Functions that a query may call, in ClickHouse's spelling. */
export const functionNames: readonly string[] = [...scalarNames, ...aggregateNames];

const combinators = ['ordefault', 'distinct', 'resample', 'foreach', 'argmax', 'argmin', 'ornull', 'tuple', 'array', 'null', 'map', 'if'];

const tableFunctions = lowerCased(namesIn('numbers numbers_mt zeros zeros_mt generateSeries generate_series SQLStandardValues'));

export function lowerCaseNames(text: string): readonly string[] {
  return namesIn(text.toLowerCase());
}

function namesIn(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

function lowerCased(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.map((name) => name.toLowerCase()));
}

/** A scalar or window function, or an aggregate with any of its combinators (sumIf, uniqArrayIf, …). */
export const isAllowedFunction = (name: string): boolean => scalars.has(name.toLowerCase()) || isAllowedAggregate(name);

export const isAllowedAggregate = (name: string): boolean => isAggregate(name.toLowerCase());

function isAggregate(name: string): boolean {
  if (aggregates.has(name)) return true;
  return combinators.some((suffix) => name.length > suffix.length && name.endsWith(suffix) && isAggregate(name.slice(0, -suffix.length)));
}

/** A function that is allowed in FROM: it generates rows from its own arguments. */
export const isAllowedTableFunction = (name: string): boolean => tableFunctions.has(name.toLowerCase());
