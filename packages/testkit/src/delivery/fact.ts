/** Waits for a fact: looks again and again, with a deadline that names what did not come true. */
export async function untilFact(
  what: () => string,
  isTrue: () => boolean | Promise<boolean>,
  withinMs: number,
  lookMs = 2,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`not true after ${withinMs} ms: ${what()}`);
    await new Promise<void>((resolve) => void setTimeout(resolve, lookMs));
  }
}
