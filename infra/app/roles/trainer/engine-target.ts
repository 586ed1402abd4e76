// Which version the engines of a run should serve: the newest whose weights can be loaded and match their published hash. Missed versions
// are skipped. A version that is published again, with other weights or at another URI, is judged again.
import type { PolicyPublished } from '../../../../schemas/generated/events.ts';
import type { WeightsToLoad } from '../../../llm/engines/engine.ts';

/** The fields that are kept of a published version. */
export type OfferedVersion = Pick<PolicyPublished, 'version' | 'uri' | 'sha256' | 'manifest' | 'format' | 'loadable'>;

export class EngineTarget {
  readonly #run: string;
  readonly #open = new Map<number, OfferedVersion>();
  /** Versions that cannot be read now, or whose hash does not match now. */
  readonly #later = new Set<number>();
  #served: { readonly offered: OfferedVersion; readonly weights: WeightsToLoad | undefined } | undefined;

  constructor(run: string) {
    this.#run = run;
  }

  offer({ version, uri, sha256, manifest, format, loadable }: OfferedVersion): void {
    const served = this.#served?.offered;
    if (served !== undefined && version < served.version) return;
    if (version === served?.version && uri === served.uri && sha256 === served.sha256 && loadable === served.loadable) return;
    this.#later.delete(version);
    this.#open.set(version, { version, uri, sha256, manifest, format, loadable });
  }

  /** The next version to judge; undefined when there is none, or when all that are left are postponed. */
  next(): OfferedVersion | undefined {
    const versions = [...this.#open.keys()].filter((version) => !this.#later.has(version));
    return this.#open.get(Math.max(-1, ...versions));
  }

  /** Its weights are valid: earlier versions are no longer needed. */
  serve(offered: OfferedVersion, path: string): void {
    this.#settle(offered, { path, label: `${this.#run}/${offered.version}` });
  }

  /** The trainer gives it to the engines itself: they get no request. */
  leave(offered: OfferedVersion): void {
    this.#settle(offered, undefined);
  }

  /** Engines can never load it. The version before it is next, unless that one is served already. */
  refuse(offered: OfferedVersion): void {
    if (this.#open.get(offered.version) === offered) this.#open.delete(offered.version);
  }

  /** Judged again after `again`. */
  postpone({ version }: OfferedVersion): void {
    this.#later.add(version);
  }

  isWaiting(): boolean {
    return this.#later.size > 0;
  }

  again(): void {
    this.#later.clear();
  }

  wanted(): WeightsToLoad | undefined {
    return this.#served?.weights;
  }

  /** Version that is served, or left to the trainer; -1 = none yet. */
  version(): number {
    return this.#served?.offered.version ?? -1;
  }

  #settle(offered: OfferedVersion, weights: WeightsToLoad | undefined): void {
    this.#served = { offered, weights };
    for (const [version, other] of this.#open) {
      if (version > offered.version || (version === offered.version && other !== offered)) continue;
      this.#open.delete(version);
      this.#later.delete(version);
    }
  }
}
