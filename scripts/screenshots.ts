/** Pictures of every page, light, dark and on a phone, into docs/screenshots: a real server with a demo, looked at by Chromium.
 *  `--out folder` writes elsewhere, `--only part` takes the pages whose name holds it, `--serve` leaves the product running. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createClient } from "@drover/client";
import { chromium, type Browser } from "playwright-core";
import { startDrover } from "../packages/testkit/src/drover-process.ts";
import { seedFleet, type DemoFleet } from "./screenshots/demo-fleet.ts";
import { playKept, seedSupervision } from "./screenshots/demo-kept.ts";
import { startDemoModel } from "./screenshots/demo-model.ts";
import { seedWork } from "./screenshots/demo-work.ts";
import { listShots, type DemoIds, type Shot } from "./screenshots/shots.ts";
import { ROOT } from "./steps.ts";

const ADMIN_TOKEN = "drv_u_the-admin-of-the-screenshots";
const VIEWS = [
  { name: "light", width: 1280, height: 800, theme: "light" },
  { name: "dark", width: 1280, height: 800, theme: "dark" },
  { name: "narrow", width: 390, height: 844, theme: "light" },
] as const;
type View = (typeof VIEWS)[number];

const QUALITY = 82;
const BEAT_MS = 20_000;

async function shoot(chrome: Browser, url: string, shot: Shot, view: View, out: string): Promise<void> {
  const context = await chrome.newContext({
    viewport: { width: view.width, height: view.height },
    colorScheme: view.theme,
    reducedMotion: "reduce",
  });
  try {
    if (shot.isLoggedOut !== true)
      await context.request.post(`${url}/api/v1/auth/login`, { data: { token: ADMIN_TOKEN } });
    const page = await context.newPage();
    const said: string[] = [];
    page.on("console", (message) => message.type() === "error" && said.push(message.text()));
    page.on("pageerror", (error) => said.push(error.message));
    await page.goto(`${url}${shot.path}`);
    await page.getByText(shot.shows).first().waitFor({ timeout: 30_000 });
    if (shot.isLoggedOut !== true) {
      await page.locator("[data-testid=connection][data-phase=live]").waitFor();
      await page.getByTestId("attention").waitFor();
    }
    await shot.act?.(page);
    // Fonts and lazy parts are there when nothing is being loaded any more; the live socket does not count.
    await page.waitForLoadState("networkidle");
    await page.waitForFunction(() => document.querySelector(".skeleton") === null);
    const picture = await page.screenshot({ type: "jpeg", quality: QUALITY });
    await writeFile(join(out, `${shot.name}-${view.name}.jpg`), picture);
    if (said.length > 0) throw new Error(`the page said: ${said.join("; ")}`);
  } finally {
    await context.close();
  }
}

async function seed(url: string): Promise<{ readonly ids: DemoIds; readonly fleet: DemoFleet }> {
  const client = createClient({ baseUrl: url, token: ADMIN_TOKEN });
  const storefront = await client.createProject({ body: { name: "storefront", description: "The shop" } });
  const billing = await client.createProject({ body: { name: "billing", description: "Invoices and payments" } });
  const fleet = await seedFleet(url, client, [storefront.id, billing.id]);
  const work = await seedWork(url, ADMIN_TOKEN, client, storefront.id);
  await client.createBudget({ body: { scope_type: "global", limit_amount: 40, alert_threshold: 0.8 } });
  await client.createBudget({
    body: { scope_type: "project", scope_id: storefront.id, limit_amount: 3, alert_threshold: 0.5 },
  });
  await seedSupervision(client, billing.id);
  const kept = await playKept(client, storefront.id);
  const { path: sharePath } = await client.createShare({ params: { sandbox_id: kept[0] as never }, body: {} });
  return { ids: { ...work, sandboxes: fleet.ids, projectId: storefront.id, kept, sharePath }, fleet };
}

async function shootAll(url: string, ids: DemoIds, only: string | undefined, out: string): Promise<void> {
  await mkdir(out, { recursive: true });
  const chrome = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--force-color-profile=srgb"],
  });
  try {
    for (const shot of listShots(ids).filter(({ name }) => only === undefined || name.includes(only)))
      for (const view of VIEWS) {
        await shoot(chrome, url, shot, view, out).catch((error: unknown) => {
          process.exitCode = 1;
          console.error(`${shot.name} ${view.name}: ${error instanceof Error ? error.message : String(error)}`);
        });
      }
  } finally {
    await chrome.close();
  }
}

const { values } = parseArgs({
  options: {
    out: { type: "string" },
    only: { type: "string" },
    serve: { type: "boolean", default: false },
    /** A product that `--serve` left running, and what it is made of. */
    at: { type: "string" },
  },
});
const out = values.out ?? join(ROOT, "docs/screenshots");

if (values.at !== undefined) {
  const { url, ids } = JSON.parse(values.at) as { readonly url: string; readonly ids: DemoIds };
  await shootAll(url, ids, values.only, out);
} else {
  const dataDir = await mkdtemp(join(tmpdir(), "drover-screenshots-"));
  const model = await startDemoModel();
  const environment = {
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: "none",
    GUARDIAN_JUDGE_MODEL: "anthropic:claude-opus-4-8",
  };
  const start = () => startDrover({ dataDir, adminToken: ADMIN_TOKEN, environment });
  const first = await start();
  let seeded: Awaited<ReturnType<typeof seed>>;
  try {
    seeded = await seed(`http://127.0.0.1:${first.port}`);
  } finally {
    // Guardian and conductor look at everything when they start: it is started again.
    await first.stop();
  }
  const { ids, fleet } = seeded;
  const server = await start();
  const url = `http://127.0.0.1:${server.port}`;
  const beating = setInterval(() => void fleet.beat(url).catch(() => undefined), BEAT_MS);
  try {
    await fleet.beat(url);
    await createClient({ baseUrl: url, token: ADMIN_TOKEN }).startDemo({ body: {} });
    if (values.serve) {
      console.log(JSON.stringify({ url, ids, token: ADMIN_TOKEN }));
      await new Promise((resolve) => process.once("SIGINT", resolve));
    } else await shootAll(url, ids, values.only, out);
  } finally {
    clearInterval(beating);
    await server.stop();
    await model[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
}
