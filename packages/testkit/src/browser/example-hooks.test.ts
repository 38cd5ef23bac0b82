/** The page of `examples/react-hooks`, served as its reader serves it: events, one sandbox, and a word to its agent. */
import { join } from "node:path";
import { expect } from "vitest";
import { createServer } from "vite";
import { ADMIN_TOKEN, test } from "./browser.ts";
import { say } from "./fake-worker.ts";

const CONFIG = join(import.meta.dirname, "../../../../examples/react-hooks/vite.config.ts");

test("a page of one's own shows live events and speaks to an agent", async ({ page, product, worker, complaints }) => {
  process.env["DROVER_URL"] = product.url;
  process.env["DROVER_TOKEN"] = ADMIN_TOKEN;
  const vite = await createServer({ configFile: CONFIG, logLevel: "error", server: { host: "127.0.0.1", port: 0 } });
  try {
    await vite.listen();
    const [url] = vite.resolvedUrls?.local ?? [];
    if (url === undefined) throw new Error("vite has no address");
    // The page is of another origin than the product here, and React's development build says what it is.
    complaints.allow(/^asked elsewhere: /, /React DevTools/);
    await page.goto(url);
    await worker.post(say("counting sheep"));
    await page.getByRole("button", { name: "SANDBOX_agent.message" }).first().click();
    await page.getByRole("heading", { name: worker.id }).waitFor();
    await page.getByLabel("Message").fill("Count the lambs too");
    await page.getByLabel("Message").press("Enter");
    await page.getByText("Count the lambs too: queued").waitFor();
    const [message] = await worker.receive();
    expect(message?.content).toBe("Count the lambs too");
    await worker.ack(message?.id ?? "", "seen");
    await page.getByText("Count the lambs too: seen").waitFor();
  } finally {
    await vite.close();
  }
});
