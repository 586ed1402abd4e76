// Replaces the wall clock of this process: Date.now() and new Date() return the result of `nowOf` for the true time. Timers and
// performance.now() are unchanged. Plain JavaScript, because preloads run without TypeScript.
export function replaceDate(nowOf) {
  const Original = globalThis.Date;
  const trueNow = Original.now.bind(Original);
  const now = () => nowOf(trueNow());
  Original.now = now;
  const Shifted = new Proxy(Original, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: (target) => new target(now()).toString(),
  });
  Original.prototype.constructor = Shifted;
  globalThis.Date = Shifted;
}
