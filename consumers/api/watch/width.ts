/** Round widths of a span of time, s. */
const WIDTHS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 43_200, 86_400] as const;

/** The smallest round width, s, with which `seconds` are divided into at most `points` spans. */
export const widthFor = (seconds: number, points: number): number =>
  WIDTHS.find((width) => seconds / width < points) ?? Math.ceil(seconds / points / 86_400) * 86_400;
