/** Takes the marks of `scripts.RUN` out of a command's output as it passes. */

export interface Passed {
  /** What is surely the command's own. */
  readonly own: Buffer;
  /** Everything after the mark, once it was seen. */
  readonly after: Buffer | null;
}

const NOTHING = Buffer.alloc(0);

/** Length of the longest end of `bytes` that is a beginning of `mark`. Only that much is held back, so that output stays live. */
function findHeld(bytes: Buffer, mark: Buffer): number {
  for (let from = Math.max(0, bytes.length - mark.length + 1); from < bytes.length; from += 1) {
    if (bytes[from] !== mark[0]) continue;
    if (bytes.subarray(from).equals(mark.subarray(0, bytes.length - from))) return bytes.length - from;
  }
  return 0;
}

export class MarkedOutput {
  readonly #mark: Buffer;
  #held: Buffer = NOTHING;
  #after: Buffer | null = null;

  constructor(mark: string) {
    this.#mark = Buffer.from(`\0${mark}`);
  }

  pass(chunk: Buffer): Passed {
    if (this.#after !== null) {
      this.#after = Buffer.concat([this.#after, chunk]);
      return { own: NOTHING, after: this.#after };
    }
    const bytes = Buffer.concat([this.#held, chunk]);
    const at = bytes.indexOf(this.#mark);
    if (at >= 0) {
      this.#held = NOTHING;
      this.#after = bytes.subarray(at + this.#mark.length);
      return { own: bytes.subarray(0, at), after: this.#after };
    }
    const held = findHeld(bytes, this.#mark);
    this.#held = bytes.subarray(bytes.length - held);
    return { own: bytes.subarray(0, bytes.length - held), after: null };
  }

  /** What was held back, when no mark comes any more. */
  rest(): Buffer {
    const held = this.#held;
    this.#held = NOTHING;
    return held;
  }
}
