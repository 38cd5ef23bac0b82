/** Chromium against the real product: server, relay and browser once per file, a page and its complaints per test. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NewSandbox } from "@drover/contract";
import { chromium, type Browser, type BrowserContext, type Locator, type Page } from "playwright-core";
import { expect, test as base } from "vitest";
import type { Db } from "../../../server/src/ports/db.ts";
import { createDatabase } from "../postgres.ts";
import { startDrover, type DroverProcess } from "../drover-process.ts";
import { endSandboxes } from "../end-sandboxes.ts";
import { startFakeWorker, type FakeWorker } from "./fake-worker.ts";
import { startRelay, type Relay } from "./relay.ts";

export const ADMIN_TOKEN = "drv_u_the-admin-of-the-browser-tests";

/** Debian's; a machine's own browser by CHROMIUM. */
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const PATIENCE_MS = 30_000;
/** A fact of the page, awaited. */
// oxlint-disable-next-line vitest/require-awaited-expect-poll -- the caller awaits it
export const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: PATIENCE_MS, interval: 50 });

export interface Product {
  /** Of the relay: stays the same when the server is restarted. */
  readonly url: string;
  readonly relay: Relay;
  readonly server: () => DroverProcess;
  readonly dataDir: string;
  readonly db: Db;
  /** The server dies without a word and comes back on the same data. */
  restart(whileDown?: () => Promise<void>): Promise<void>;
  startWorker(input?: NewSandbox): Promise<FakeWorker>;
}

/** What a clean page never does. A test that breaks the line names what may then be said. */
export class Complaints {
  readonly said: string[] = [];
  private readonly allowed: RegExp[] = [];

  allow(...patterns: readonly RegExp[]): void {
    this.allowed.push(...patterns);
  }

  get unexpected(): readonly string[] {
    return this.said.filter((text) => !this.allowed.some((pattern) => pattern.test(text)));
  }
}

export const LINE_IS_CUT = /WebSocket connection|net::ERR_|Failed to load resource/;

function listenForComplaints(context: BrowserContext, origin: string, complaints: Complaints): void {
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.said.push(`console: ${message.text()}`);
  });
  context.on("weberror", (error) => complaints.said.push(`page: ${error.error().message}`));
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith("data:") && !url.startsWith("blob:"))
      complaints.said.push(`asked elsewhere: ${url}`);
  });
}

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: "light" | "dark";
  readonly isLoggedIn?: boolean;
}

async function startProduct(): Promise<{ product: Product; end: () => Promise<void> }> {
  const database = await createDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), "drover-browser-"));
  const start = () => startDrover({ databaseUrl: database.url, dataDir, adminToken: ADMIN_TOKEN });
  let server = await start();
  const relay = await startRelay(server.port);
  const product: Product = {
    url: relay.url,
    relay,
    dataDir,
    db: database.db,
    server: () => server,
    restart: async (whileDown) => {
      relay.target = undefined;
      await server.kill();
      relay.cutAll();
      await whileDown?.();
      server = await start();
      relay.target = server.port;
    },
    startWorker: (input) => startFakeWorker(relay.url, ADMIN_TOKEN, input),
  };
  const end = async () => {
    await relay.close();
    await server.stop();
    await endSandboxes(dataDir);
    await database.drop();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  };
  return { product, end };
}

export const test = base.extend<{
  $file: { product: Product; chrome: Browser };
  $test: { open: (options?: PageOptions) => Promise<Page>; page: Page; complaints: Complaints; worker: FakeWorker };
}>({
  product: [
    async ({}, use) => {
      const { product, end } = await startProduct();
      await use(product);
      await end();
    },
    { scope: "file" },
  ],
  chrome: [
    async ({}, use) => {
      const chrome = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
      await use(chrome);
      await chrome.close();
    },
    { scope: "file" },
  ],
  complaints: async ({}, use) => {
    const complaints = new Complaints();
    await use(complaints);
    // oxlint-disable-next-line vitest/no-standalone-expect -- a promise of every test that opens a page
    expect(complaints.unexpected).toEqual([]);
  },
  open: async ({ product, chrome, complaints }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async ({ width = 1280, height = 800, theme = "light", isLoggedIn = true } = {}) => {
      const context = await chrome.newContext({ viewport: { width, height }, colorScheme: theme });
      contexts.push(context);
      listenForComplaints(context, product.url, complaints);
      if (isLoggedIn) await context.request.post(`${product.url}/api/v1/auth/login`, { data: { token: ADMIN_TOKEN } });
      return context.newPage();
    });
    for (const context of contexts) await context.close();
  },
  page: async ({ open }, use) => {
    await use(await open());
  },
  worker: async ({ product }, use) => {
    await use(await product.startWorker());
  },
});

/** Tall enough that the virtual feed draws every row of a small run. */
export const TALL = { width: 1280, height: 6_000 } as const;

export const feedOf = (page: Page): Locator => page.getByRole("feed");

/** sandbox_seq of the rows that are drawn, in their order. */
export const seqsOf = (page: Page): Promise<number[]> =>
  page.getByRole("article").evaluateAll((rows) => rows.map((row) => Number(row.getAttribute("data-seq"))));

/** What the agent said, row by row. */
export const saidIn = (page: Page): Promise<string[]> =>
  page.locator("article[data-kind=message] p").evaluateAll((rows) => rows.map((row) => row.textContent ?? ""));

export const openRun = (page: Page, product: Product, worker: Pick<FakeWorker, "id">, search = ""): Promise<unknown> =>
  page.goto(`${product.url}/sandboxes/${worker.id}${search}`);
