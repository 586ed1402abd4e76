// Formats numbers and times for people. A value that was not recorded is never shown as zero.

export const NOT_RECORDED = '–';

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** 0.1234 → 0.123, 1234 → 1,234, 1234567 → 1.23 M */
export function figure(value: unknown, digits = 3): string {
  if (!isNumber(value)) return NOT_RECORDED;
  const size = Math.abs(value);
  if (size >= 1e9) return `${trim(value / 1e9, 2)} G`;
  if (size >= 1e6) return `${trim(value / 1e6, 2)} M`;
  if (size >= 1_000 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US');
  if (size > 0 && size < 1e-3) return value.toExponential(1);
  return trim(value, digits);
}

/** A number of events; Infinity if there may be more than were counted. */
export const since = (events: number): string => (Number.isFinite(events) ? figure(events) : 'more');

const trim = (value: number, digits: number): string => {
  const text = value.toFixed(digits);
  return text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text;
};

/** `1 turn`, `1,200 turns` */
export const count = (number: number, one: string): string => `${figure(number)} ${one}${number === 1 ? '' : 's'}`;

/** 0.1234 → 12.3 % */
export const percent = (value: unknown): string => (isNumber(value) ? `${trim(value * 100, 1)} %` : NOT_RECORDED);

/** 1234 → 1.23 s */
export function duration(ms: unknown): string {
  if (!isNumber(ms)) return NOT_RECORDED;
  if (ms < 1_000) return `${trim(ms, ms < 10 ? 1 : 0)} ms`;
  if (ms < 60_000) return `${trim(ms / 1_000, 2)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

/** `3 min ago`; a missing time and a time in the future have texts of their own. */
export function age(time: string | null | undefined, nowMs: number): string {
  const at = time === null || time === undefined ? NaN : Date.parse(time);
  if (Number.isNaN(at)) return NOT_RECORDED;
  const seconds = Math.round((nowMs - at) / 1_000);
  if (seconds < 0) return 'just now';
  const units: readonly (readonly [number, string])[] = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  const [size, name] = units.find(([of]) => seconds >= of) ?? [1, 's'];
  return `${Math.floor(seconds / size)} ${name} ago`;
}

/** `v3`, `v3–v7`; -1 means unknown. */
export function versions(first: number | null | undefined, last: number | null | undefined): string {
  const one = (version: number | null | undefined): string =>
    version === null || version === undefined || version < 0 ? 'v?' : `v${version}`;
  return first === last ? one(first) : `${one(first)}–${one(last)}`;
}
