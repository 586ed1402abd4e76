// Rectangles as pixels in memory, for drawings of 50,000 of them: a canvas takes five times as long, in one path or one by one. Edges are
// rounded to pixels of the screen, and no rectangle is narrower or lower than one.

/** Left, top, width, and height of each rectangle, in CSS pixels. */
export type Rects = number[];

/** Pixels of the screen, row by row. */
export interface PixelGrid {
  readonly pixels: Uint32Array;
  readonly width: number;
  readonly height: number;
  /** Pixels of the screen per CSS pixel. */
  readonly ratio: number;
}

/** What is outside of the grid is cut off. */
export function fillRects({ pixels, width, height, ratio }: PixelGrid, rects: Rects, color: number): void {
  const edge = (px: number | undefined): number => Math.round((px ?? 0) * ratio);
  for (let at = 0; at < rects.length; at += 4) {
    const [x = 0, y = 0, wide = 0, high = 0] = [rects[at], rects[at + 1], rects[at + 2], rects[at + 3]];
    const [left, top] = [edge(x), edge(y)];
    const [right, bottom] = [Math.min(width, Math.max(left + 1, edge(x + wide))), Math.min(height, Math.max(top + 1, edge(y + high)))];
    for (let row = Math.max(0, top); row < bottom; row += 1) {
      for (let pixel = Math.max(0, left); pixel < right; pixel += 1) pixels[row * width + pixel] = color;
    }
  }
}

/** `#rrggbb` as the value of a pixel; `alpha` is from 0 to 1. */
export const pixelOf = (hex: string, alpha = 1): number => {
  const value = parseInt(hex.slice(1), 16);
  const [red, green, blue] = [value >> 16, (value >> 8) & 255, value & 255];
  return ((Math.round(alpha * 255) << 24) | (blue << 16) | (green << 8) | red) >>> 0;
};

/** A grid that is drawn onto a canvas. */
interface PixelLayer {
  readonly grid: PixelGrid;
  readonly draw: (onto: CanvasRenderingContext2D, top: number) => void;
}

interface KeptLayer {
  readonly canvas: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  readonly image: ImageData;
}

const kept = new WeakMap<HTMLCanvasElement, KeptLayer>();

function layerOf(host: HTMLCanvasElement, width: number, height: number): KeptLayer | undefined {
  const known = kept.get(host);
  if (known?.image.width === width && known.image.height === height) return known;
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext('2d');
  if (context === null) return undefined;
  const layer = { canvas, context, image: context.createImageData(width, height) };
  kept.set(host, layer);
  return layer;
}

/** An empty grid as wide as a canvas. It is reused for the next drawing on that canvas. */
export function pixelLayer(host: HTMLCanvasElement, height: number): PixelLayer | undefined {
  const ratio = devicePixelRatio;
  const layer = layerOf(host, host.width, Math.max(1, Math.round(height * ratio)));
  if (layer === undefined) return undefined;
  const { canvas, context, image } = layer;
  const pixels = new Uint32Array(image.data.buffer);
  pixels.fill(0);
  return {
    grid: { pixels, width: image.width, height: image.height, ratio },
    draw(onto, top) {
      context.putImageData(image, 0, 0);
      onto.save();
      onto.setTransform(1, 0, 0, 1, 0, 0);
      onto.drawImage(canvas, 0, Math.round(top * ratio));
      onto.restore();
    },
  };
}
