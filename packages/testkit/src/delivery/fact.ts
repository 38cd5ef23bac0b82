/** Waits for a fact: looks again and again, with a deadline that names what did not come true. */
const LOOK_MS = 2;

export async function untilFact(
  what: () => string,
  isTrue: () => boolean | Promise<boolean>,
  withinMs: number,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`not true after ${withinMs} ms: ${what()}`);
    await new Promise<void>((resolve) => void setTimeout(resolve, LOOK_MS));
  }
}
