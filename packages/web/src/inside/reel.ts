/** A recording on a screen, at any of its moments. */
import type { Cast } from "@drover/contract/views";
import type { Screen } from "./terminal-screen.ts";

/** Draws steps up to a moment; going back draws from the start. */
export class Reel {
  private readonly screen: Screen;
  private readonly cast: Cast;
  private next = 0;

  constructor(screen: Screen, cast: Cast) {
    this.screen = screen;
    this.cast = cast;
  }

  show(at: number): void {
    const { steps } = this.cast;
    if (this.next > 0 && (steps[this.next - 1]?.at ?? 0) > at) {
      this.screen.terminal.reset();
      this.next = 0;
    }
    let text = "";
    for (; this.next < steps.length && (steps[this.next]?.at ?? 0) <= at; this.next += 1)
      text += steps[this.next]?.text ?? "";
    if (text !== "") this.screen.terminal.write(text);
  }
}
