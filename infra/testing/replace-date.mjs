// Gives this process another wall clock: Date.now() and new Date() say what `nowOf` makes of the true time. Timers and
// performance.now() keep their pace. Plain JavaScript, for preloads run where no TypeScript is loaded.
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
