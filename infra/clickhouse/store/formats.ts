// Output formats: their content types, and which of them can be streamed.

const contentTypes: Readonly<Record<string, string>> = {
  JSON: 'application/json; charset=UTF-8',
  JSONStrings: 'application/json; charset=UTF-8',
  JSONColumns: 'application/json; charset=UTF-8',
  JSONCompact: 'application/json; charset=UTF-8',
  JSONCompactStrings: 'application/json; charset=UTF-8',
  JSONEachRow: 'application/x-ndjson; charset=UTF-8',
  JSONCompactEachRow: 'application/x-ndjson; charset=UTF-8',
  JSONLines: 'application/x-ndjson; charset=UTF-8',
  NDJSON: 'application/x-ndjson; charset=UTF-8',
  CSV: 'text/csv; charset=UTF-8; header=absent',
  CSVWithNames: 'text/csv; charset=UTF-8; header=present',
  CSVWithNamesAndTypes: 'text/csv; charset=UTF-8; header=present',
  TabSeparated: 'text/tab-separated-values; charset=UTF-8',
  TSV: 'text/tab-separated-values; charset=UTF-8',
  TabSeparatedWithNames: 'text/tab-separated-values; charset=UTF-8',
  TSVWithNames: 'text/tab-separated-values; charset=UTF-8',
  XML: 'application/xml; charset=UTF-8',
  Parquet: 'application/octet-stream',
  Arrow: 'application/octet-stream',
  ArrowStream: 'application/octet-stream',
  Native: 'application/octet-stream',
  RowBinary: 'application/octet-stream',
  RowBinaryWithNames: 'application/octet-stream',
  RowBinaryWithNamesAndTypes: 'application/octet-stream',
  ORC: 'application/octet-stream',
  Avro: 'application/octet-stream',
  Markdown: 'text/markdown; charset=UTF-8',
};

export const contentTypeOf = (format: string): string => contentTypes[format] ?? 'text/plain; charset=UTF-8';

/**
 * Formats without a header or footer: each block of a result is valid by itself, and the concatenated blocks are the result. The engine
 * writes the header and footer around every block of a stream, so results in all other formats are sent in one piece.
 */
const blockwise = new Set([
  'JSONEachRow',
  'JSONCompactEachRow',
  'JSONStringsEachRow',
  'JSONCompactStringsEachRow',
  'JSONLines',
  'NDJSON',
  'CSV',
  'TabSeparated',
  'TSV',
  'TabSeparatedRaw',
  'TSVRaw',
  'RowBinary',
  'Native',
  'LineAsString',
  'RawBLOB',
]);

export const isBlockwise = (format: string): boolean => blockwise.has(format);
