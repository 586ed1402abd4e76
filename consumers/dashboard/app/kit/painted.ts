import { useEffect, useState } from 'preact/hooks';

/**
 * True from the paint after `isReady` first holds. Less urgent requests of a page wait for it, because on a busy machine they would delay the
 * paint.
 */
export function usePainted(isReady: boolean): boolean {
  const [isPainted, setPainted] = useState(false);
  useEffect(() => {
    if (!isReady || isPainted) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const frame = requestAnimationFrame(() => {
      timer = setTimeout(() => setPainted(true));
    });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, [isReady]);
  return isPainted;
}
