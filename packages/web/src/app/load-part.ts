/** A part of the page that is asked for again until it comes: while the server is away it cannot be had. */
const AGAIN_MS = 2_000;
/** An hour and a half; who is still there then loads the page anew. */
const MOST_TRIES = 2_700;

export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  for (let left = MOST_TRIES; ; left -= 1) {
    try {
      return await load();
    } catch (error) {
      // Expected: the server is away, or a newer one has other parts: then the page is loaded anew.
      if (left === 0) throw error;
      await new Promise<void>((resolve) => void setTimeout(resolve, AGAIN_MS));
    }
  }
}
