// Frames that a live client has not received yet. They wait here, not in the socket, so that they can still be withdrawn: a client that
// falls behind gets whole frames up to some position, then the position itself, and nothing in between. The wire holds its own small buffer
// and at most one more frame.

/** The destination of the bytes: a response, or a list in tests. */
export interface Wire {
  /** Accepts a whole frame. False: wait for `onDrain` before the next one. */
  write(text: string): boolean;
  /** Called whenever the wire can accept frames again. */
  onDrain(listener: () => void): void;
  onClose(listener: () => void): void;
  end(): void;
}

export interface Frame {
  readonly text: string;
  /** Where to resume after this frame. */
  readonly id: string;
}

export class LiveOutbox {
  readonly #wire: Wire;
  #waiting: Frame[] = [];
  #next = 0;
  #size = 0;
  #clear = true;
  #given: string;
  #told: ((progress: boolean) => void) | undefined;

  constructor(wire: Wire, startId: string) {
    this.#wire = wire;
    this.#given = startId;
    wire.onDrain(() => {
      this.#clear = true;
      this.#flush();
      this.#told?.(true);
    });
    wire.onClose(() => {
      this.#told?.(false);
    });
  }

  /** Number of waiting characters. */
  get size(): number {
    return this.#size;
  }

  push(frame: Frame): void {
    this.#waiting.push(frame);
    this.#size += frame.text.length;
    this.#flush();
  }

  /** Resolves with true when nothing waits; false when the wire accepted nothing for `patienceMs`, or closed. */
  async emptied(patienceMs: number): Promise<boolean> {
    while (this.#size > 0) if (!(await this.#progress(patienceMs))) return false;
    return true;
  }

  /** Withdraws the waiting frames; returns where the client must resume, if there were any. */
  takeBack(): string | undefined {
    const any = this.#size > 0;
    this.#forget();
    return any ? this.#given : undefined;
  }

  #flush(): void {
    while (this.#clear) {
      const frame = this.#waiting[this.#next];
      if (frame === undefined) break;
      this.#next += 1;
      this.#size -= frame.text.length;
      this.#given = frame.id;
      this.#clear = this.#wire.write(frame.text);
    }
    if (this.#next === this.#waiting.length) this.#forget();
  }

  #forget(): void {
    this.#waiting = [];
    this.#next = 0;
    this.#size = 0;
  }

  #progress(patienceMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#told?.(false);
      }, patienceMs);
      this.#told = (progress) => {
        clearTimeout(timer);
        this.#told = undefined;
        resolve(progress);
      };
    });
  }
}
