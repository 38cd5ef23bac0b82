/** What a browser asks for first: the page, and the program that it names. */
import { broken, ok, toReason, type Finding } from "./finding.ts";

const PATIENCE_MS = 10_000;
const FIX = "Build it with `npm run build`, and start the server again.";

export async function checkPage(address: string, fetch: typeof globalThis.fetch): Promise<Finding> {
  const load = async (path: string) => {
    const answer = await fetch(new URL(path, address), { signal: AbortSignal.timeout(PATIENCE_MS) });
    return { status: answer.status, kind: answer.headers.get("content-type") ?? "", text: await answer.text() };
  };
  try {
    const page = await load("/");
    const [, program] = /<script[^>]+src="([^"]+)"/.exec(page.text) ?? [];
    if (page.status !== 200 || program === undefined)
      return broken("browser", `${address} answers with ${page.status} and no page`, FIX);
    const { status, kind } = await load(program);
    if (status !== 200 || !kind.includes("javascript"))
      return broken("browser", `the page's program answers with ${status} ${kind}`.trim(), FIX);
    return ok("browser", `the page and its program are served at ${address}`);
  } catch (error) {
    // Expected: an address that this machine cannot reach, or one that is somebody else's.
    return broken("browser", toReason(error), FIX);
  }
}
